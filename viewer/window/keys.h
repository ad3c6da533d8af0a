// GLFW's names of keys, as the viewer's.
#pragma once

#include "viewer/draw/toolkit.h"
#include "viewer/panels/actions.h"

namespace vantage::view {

/// What a key means by itself: characters come through another callback, but for those with Ctrl or Alt, which make none.
Shortcut shortcut_of(int key, int scancode, int modifiers);
EditKey edit_key_of(int key);

}  // namespace vantage::view
