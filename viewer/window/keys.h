// GLFW's names of keys, as the viewer's.
#pragma once

#include "viewer/draw/toolkit.h"
#include "viewer/panels/actions.h"

namespace vantage::view {

class Viewer;

/// What a key means by itself: characters come through another callback, but for those with Ctrl or Alt, which make none.
Shortcut shortcut_of(int key, int scancode, int modifiers);
EditKey edit_key_of(int key);
/// As GLFW's callback is told it.
void send_key(Viewer& viewer, int key, int scancode, int action, int modifiers);

}  // namespace vantage::view
