// What X11 reports apart from any call: another program destroyed the window, or the server is gone.
#pragma once

#include <functional>

namespace vantage::view {

/// From now on such an error ends the process with one line and the exit code of `unsupported`. (Xlib would end it with
/// its own lines.) Does nothing where windows are not X11's. Call after glfwInit.
void end_plainly_at_x11_errors();

/// Such an error lets `work` finish first, and ends the process with the exit code that it returns; empty: nothing.
void finish_before_x11_ends(std::function<int()> work);

}  // namespace vantage::view
