// Conversion of GLFW's keys.
#pragma once

#include "viewer/draw/toolkit.h"
#include "viewer/panels/actions.h"

namespace vantage::view {

class Viewer;

/// The shortcut of a key. Characters without Ctrl or Alt come through another callback and give none.
Shortcut shortcut_of(int key, int scancode, int modifiers);
EditKey edit_key_of(int key);
/// With the arguments of GLFW's callback.
void send_key(Viewer& viewer, int key, int scancode, int action, int modifiers);

}  // namespace vantage::view
