// Conversion of GLFW's keys.
#pragma once

namespace vantage::view {

class Viewer;

/// Passes a key on, with the arguments of GLFW's callback.
void send_key(Viewer& viewer, int key, int scancode, int action, int modifiers);

}  // namespace vantage::view
