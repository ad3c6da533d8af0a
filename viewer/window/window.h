// The GLFW window: passes input to a Viewer and presents its pictures.
#pragma once

#include <array>
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

class TrainingSnapshots;
class Viewer;

/// Initialises GLFW while it lives. Throws unsupported without a display.
class WindowSystem : NotCopied {
public:
    WindowSystem();
    ~WindowSystem();
    /// For vantage::open_for_windows.
    std::vector<const char*> instance_extensions() const;
    /// Wakes a loop that waits for events; from any thread.
    static void wake();
};

struct WindowOptions {
    std::string title = "Vantage";
    int width = 1280, height = 800;
    float scale = 1;  ///< multiplied by the screen's
    bool frozen = false;
    std::optional<double> budget_percent = {};
    std::string pictures = ".";  ///< folder for saved files
    KeyBindings keys = {};       ///< from here on as in ViewerOptions
    std::function<LivePrompt(const ViewState&)> prompt = {};
    LiveModel* compared = nullptr;
    TrainingSnapshots* training = nullptr;
    std::string command = "vantage view";
};

struct WindowCounts {
    std::uint64_t pictures = 0, resized = 0;
    std::uint64_t waits = 0;     ///< pictures for which the host waited for the device; expected: 0
    double picture_seconds = 0;  ///< host time of all pictures
};

class Window : NotCopied {
public:
    /// `device` was opened for windows.
    Window(const Device& device, LiveModel& live, const ViewState& state, const WindowOptions& options = {});
    ~Window();

    /// Runs until the window is closed.
    void run();
    /// Handles events, waiting at most `seconds`, and draws if something changed. Returns false once the window is
    /// closed.
    bool turn(double seconds);
    /// The picture of the window, drawn again with all data of one version and copied from the screen's image.
    Image screenshot();

    Viewer& viewer();
    GLFWwindow* handle() const;
    const ViewState& state() const;
    /// Width and height as in WindowOptions.
    std::array<int, 2> size() const;
    const WindowCounts& counts() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace vantage::view
