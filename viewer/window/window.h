// The window: GLFW's, with keys and the mouse on their way to a Viewer, and pictures on their way to the screen.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/io/image.h"
#include "vantage/device.h"
#include "viewer/data/live_model.h"
#include "viewer/data/view_state.h"
#include "viewer/panels/key_bindings.h"

struct GLFWwindow;

namespace vantage::view {

class Viewer;

/// GLFW while this lives. Throws unsupported when there is no display.
class WindowSystem {
public:
    WindowSystem();
    ~WindowSystem();
    WindowSystem(const WindowSystem&) = delete;
    WindowSystem& operator=(const WindowSystem&) = delete;
    /// For vantage::open_for_windows.
    std::vector<const char*> instance_extensions() const;
    /// Wakes a loop that waits for events; from any thread.
    static void wake();
};

struct WindowOptions {
    std::string title = "Vantage";
    int width = 1280, height = 800;
    float scale = 1;  ///< on top of the screen's own
    bool frozen = false;
    std::optional<double> budget_percent = {};
    std::string pictures = ".";  ///< folder for what is saved
    KeyBindings keys = {};       ///< these four as ViewerOptions
    std::function<LivePrompt(const ViewState&)> prompt = {};
    LiveModel* compared = nullptr;
    std::string command = "vantage view";
};

struct WindowCounts {
    std::uint64_t pictures = 0, resized = 0;
    std::uint64_t waits = 0;     ///< pictures while which the host waited for the device: none
    double picture_seconds = 0;  ///< of the host, for all of them
};

class Window {
public:
    /// `device` was opened for windows.
    Window(const Device& device, LiveModel& live, const ViewState& state, const WindowOptions& options = {});
    ~Window();
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;

    /// Until it is closed.
    void run();
    /// Hears what happened, waiting for at most `seconds`, and draws when something is new. False when it was closed.
    bool turn(double seconds);
    /// What the window shows, drawn again with all data of one version and copied from the screen's image.
    Image screenshot();

    Viewer& viewer();
    GLFWwindow* handle() const;
    const WindowCounts& counts() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace vantage::view
