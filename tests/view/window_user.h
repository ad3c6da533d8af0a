// Somebody in front of the viewer's window: what he does comes in through GLFW's callbacks.
#pragma once

#include "runtime/gpu/vulkan_calls.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

#include <catch2/catch_test_macros.hpp>
#include <future>
#include <string>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/options.h"
#include "runtime/base/utf8.h"
#include "runtime/picture/png.h"
#include "tests/host/watchdog.h"
#include "vantage/vulkan.h"
#include "viewer/panels/viewer.h"
#include "viewer/window/window.h"
#include "virtual_display.h"

namespace view_test {

using namespace vantage;
using namespace vantage::view;

/// One for all tests, started with the first that asks.
inline const VirtualDisplay& display() {
    static const VirtualDisplay display;
    return display;
}

/// With VANTAGE_TEST_PICTURES=DIR what the tests saw is kept there.
inline void keep(const Image& image, const std::string& name) {
    if (const auto folder = environment("VANTAGE_TEST_PICTURES")) write_png(*folder + "/" + name + ".png", image);
}

/// Calls the callback that a GLFW setter keeps, as GLFW would.
template <class Setter, class... Arguments>
void inject(Setter setter, GLFWwindow* window, Arguments... arguments) {
    const auto callback = setter(window, nullptr);
    setter(window, callback);
    REQUIRE(callback != nullptr);
    callback(window, arguments...);
}

/// Until the model has done what was asked of it: a window asks for the most telling head, and may be closed before the
/// answer.
inline void wait_for_answers(LiveModel& live) {
    std::promise<void> answered;
    live.with_session([&](Session&) { answered.set_value(); });
    if (live.shows_copies()) live.serve();  // its session belongs to this thread
    answered.get_future().wait();
}

/// Cells and rows that are there, in millionths of the map and of a thumbnail each.
inline double done_of(const RunView& run) {
    if (run.frame == nullptr) return 0;
    double rows = 0;
    for (const HeadMeans& head : run.frame->heads) rows += static_cast<double>(head.rows);
    return 1e6 * (run.frame->map.progress + run.frame->mini_maps.progress + rows);
}

class User {
public:
    explicit User(Window& window) : window_(window), handle_(window.handle()) {}
    void move(double x, double y) { inject(glfwSetCursorPosCallback, handle_, x, y), settle(); }
    void click(int button = GLFW_MOUSE_BUTTON_LEFT) {
        inject(glfwSetMouseButtonCallback, handle_, button, GLFW_PRESS, held_);
        inject(glfwSetMouseButtonCallback, handle_, button, GLFW_RELEASE, held_);
        settle();
    }
    void double_click() {
        for (int i = 0; i < 2; ++i) {
            inject(glfwSetMouseButtonCallback, handle_, GLFW_MOUSE_BUTTON_LEFT, GLFW_PRESS, held_);
            inject(glfwSetMouseButtonCallback, handle_, GLFW_MOUSE_BUTTON_LEFT, GLFW_RELEASE, held_);
        }
        settle();
    }
    /// Presses or releases Shift as X11 tells of it: with the modifiers of before.
    void hold_shift() {
        inject(glfwSetKeyCallback, handle_, GLFW_KEY_LEFT_SHIFT, 0, GLFW_PRESS, held_);
        held_ = GLFW_MOD_SHIFT;
        settle();
    }
    void release_shift() {
        inject(glfwSetKeyCallback, handle_, GLFW_KEY_LEFT_SHIFT, 0, GLFW_RELEASE, held_);
        held_ = 0;
        settle();
    }
    /// From where the mouse is.
    void drag(double x, double y) {
        inject(glfwSetMouseButtonCallback, handle_, GLFW_MOUSE_BUTTON_LEFT, GLFW_PRESS, held_);
        settle();
        move(x, y);
        inject(glfwSetMouseButtonCallback, handle_, GLFW_MOUSE_BUTTON_LEFT, GLFW_RELEASE, held_);
        settle();
    }
    void scroll(double y) { inject(glfwSetScrollCallback, handle_, 0.0, y), settle(); }
    void press(int key, int modifiers = 0) {
        inject(glfwSetKeyCallback, handle_, key, 0, GLFW_PRESS, modifiers);
        inject(glfwSetKeyCallback, handle_, key, 0, GLFW_RELEASE, 0);
        settle();
    }
    void type(const std::string& text) {
        for (const char32_t c : decode_utf8(text)) inject(glfwSetCharCallback, handle_, static_cast<unsigned>(c));
        settle();
    }
    /// Until nothing is left to draw, and the model is not at work.
    void settle() {
        Viewer& viewer = window_.viewer();
        test::Watchdog watchdog("a window that has nothing left to draw");
        for (int quiet = 0; quiet < 3;) {
            // Pictures and submissions are no progress: a window that draws or reads the same again and again fails.
            const RunView &a = viewer.runs().a(), *b = viewer.runs().b();
            watchdog.look(a.live.version().number, b != nullptr ? b->live.version().number : 0, done_of(a),
                          b != nullptr ? done_of(*b) : 0);
            const std::uint64_t before = window_.counts().pictures;
            turn();
            // on CPU devices a version may wait a tenth of a second for its picture
            const bool waits = viewer.wake_in(seconds_now()) < 0.5;
            quiet = window_.counts().pictures == before && !waits ? quiet + 1 : 0;
            if (quiet == 2) wait_for_answers(viewer.runs().a().live);  // of which there may be a picture to draw
        }
    }
    void until_ended() {
        const LiveModel& live = window_.viewer().runs().a().live;
        turn_until("the end of the model's run", [&] { return live.version().activity == Activity::ended; });
        settle();
    }

    /// Turns until `reached`. The model's versions are the progress.
    template <class Reached>
    void turn_until(const std::string& goal, Reached reached) {
        const LiveModel& live = window_.viewer().runs().a().live;
        test::Watchdog watchdog(goal);
        while (!reached()) {
            watchdog.look(live.version().number);
            turn();
            REQUIRE_FALSE(live.error());
        }
    }
    /// The last note since the last call. The window shows it for a few seconds only.
    std::string take_note() { return std::exchange(note_, {}); }

private:
    void turn() {
        hear();
        REQUIRE(window_.turn(0.01));
        hear();
    }
    void hear() {
        if (const std::string& note = window_.viewer().at().note; !note.empty()) note_ = note;
    }

    Window& window_;
    GLFWwindow* handle_;
    int held_ = 0;  ///< modifiers
    std::string note_;
};

struct Opened {
    WindowSystem system;
    Device device = open_for_windows("", system.instance_extensions());
    Model model;
    explicit Opened(const std::string& folder = VANTAGE_ROOT "/assets/models/mini-world")
        : model(Model::load(device, folder)) {}
};

}  // namespace view_test
