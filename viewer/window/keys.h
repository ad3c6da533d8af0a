// Conversion of GLFW's keys and mouse buttons.
#pragma once

namespace vantage::view {

class Viewer;

/// Passes a key on, with the arguments of GLFW's callback.
void send_key(Viewer& viewer, int key, int scancode, int action, int modifiers);
/// Passes a mouse button on, with the modifiers that are held with it.
void send_button(Viewer& viewer, int button, int action, int modifiers);

}  // namespace vantage::view
