// The viewer's window on a display in memory: what a user does comes in through GLFW's callbacks, and state and pixels
// are looked at.
#include <cmath>
#include <future>
#include <optional>

#include "runtime/base/at.h"
#include "runtime/gpu/device_state.h"
#include "viewer/window/headless.h"
#include "window_user.h"

using namespace view_test;

namespace {

std::vector<float> weights_of(LiveModel& live, const HeadId& head, std::int64_t rows) {
    std::promise<std::vector<float>> answer;
    live.with_session([&](Session& session) {
        answer.set_value(session.attention({head.layer, head.head}, {0, rows}, {0, rows}).vector());
    });
    return answer.get_future().get();
}

/// What the device holds when the model's thread has done all that a window asked of it.
std::uint64_t held_at_rest(LiveModel& live, const Device& device) {
    std::promise<void> done;
    live.with_session([&](Session&) { done.set_value(); });
    done.get_future().get();
    return device.state().memory.held;
}

/// How far the pixels of the map are from the colours of the exact weights, in steps of the colour map, at worst.
int worst_step(const Image& image, const MapView& map, const std::vector<float>& weights, ColourMap colours) {
    const ColourTable& table = colours_of(colours);
    int worst = 0;
    for (std::int64_t row = 0; row < map.rows; ++row) {
        for (std::int64_t key = 0; key <= row; ++key) {
            const auto x = static_cast<int>(map.x_of(static_cast<double>(key) + 0.5)),
                       y = static_cast<int>(map.y_of(static_cast<double>(row) + 0.5));
            const auto found = std::ranges::find(table, image.at(x, y));
            if (found == table.end()) return 256;
            const float p = at(weights, row * map.rows + key);
            const auto wanted = static_cast<int>(std::lround(255 * position_of(p, 1, AttentionScale::square_root)));
            worst = std::max(worst, std::abs(static_cast<int>(found - table.begin()) - wanted));
        }
    }
    return worst;
}

}  // namespace

TEST_CASE("the viewer's window: run, point, click, scroll, type, resize, close", "[view][window]") {
    if (!display().there) SKIP("Xvfb is not installed");
    Opened opened;
    LiveModel live(opened.model, {.on_version = WindowSystem::wake});
    const ViewState state{.max_tokens = 12};
    live.start({.text = state.prompt}, state.sampling, state.max_tokens);
    std::optional<Window> window(std::in_place, opened.device, live, state,
                                 WindowOptions{.width = 1000, .height = 700, .frozen = true});
    Viewer& viewer = window->viewer();
    User user(*window);
    user.until_ended();

    // ---- what it shows is what the model did
    user.move(-1, -1);  // the display's pointer may be at a number, which would be explained
    const Image first = window->screenshot();
    keep(first, "first");
    const std::int64_t rows = viewer.runs().rows();
    REQUIRE(rows >= 20);
    const std::vector<float> weights = weights_of(live, viewer.runs().head(), rows);
    // One step: a weight may lie on the border of two, and two devices' square roots differ in the last bit.
    CHECK(worst_step(first, viewer.panes().front().map, weights, ColourMap::magma) <= 1);
    {
        PictureMaker maker(live, state, 1);
        const Image without = maker.draw(1000, 700);  // with a frozen clock the same pixels without a window
        keep(without, "without");
        CHECK((without.rgb == first.rgb));
    }

    // ---- the mouse
    const MapView map = viewer.panes().front().map;
    user.move(static_cast<double>(map.x_of(3.5)), static_cast<double>(map.y_of(9.5)));
    REQUIRE(viewer.at().cell() == Cell{9, 3});
    REQUIRE(viewer.runs().reading().has_value());
    CHECK(viewer.runs().reading()->query == 9);
    CHECK(std::abs(viewer.runs().reading()->weight - at(weights, 9 * rows + 3)) < 1e-5f);
    user.click();
    CHECK(viewer.state().pins == std::vector<Pin>{{Pin::Kind::query, 9}});
    user.scroll(3);
    REQUIRE(viewer.state().part.has_value());
    CHECK(viewer.state().part->rows() < static_cast<double>(rows));
    CHECK(viewer.at().hovered == Cell{9, 3});  // what was under the mouse does not change
    keep(window->screenshot(), "closer");

    // ---- keys
    user.type("f");
    CHECK_FALSE(viewer.state().part.has_value());
    const HeadId before = viewer.runs().head();
    user.press(GLFW_KEY_RIGHT);
    CHECK(viewer.runs().head() == HeadId{before.layer, (before.head + 1) % 8, AttentionKind::self});
    user.type("t?");
    CHECK(viewer.state().theme == Theme::light);
    keep(window->screenshot(), "help");
    user.press(GLFW_KEY_ESCAPE);
    CHECK_FALSE(viewer.at().help);

    // ---- another prompt
    user.press(GLFW_KEY_ENTER);
    REQUIRE(viewer.at().typing);
    user.press(GLFW_KEY_A, GLFW_MOD_CONTROL);
    user.type("Tom took the blue box. Tom took");
    user.press(GLFW_KEY_ENTER);
    CHECK(viewer.state().prompt == "Tom took the blue box. Tom took");
    user.until_ended();
    CHECK(viewer.runs().a().version.prompt_tokens < 12);

    // ---- the window
    glfwSetWindowSize(window->handle(), 760, 560);
    user.settle();
    const Image smaller = window->screenshot();
    keep(smaller, "smaller");
    CHECK(smaller.width == 760);
    CHECK(smaller.height == 560);
    user.settle();
    const std::uint64_t drawn = window->counts().pictures;
    for (int i = 0; i < 5; ++i) REQUIRE(window->turn(0.1));
    CHECK(window->counts().pictures == drawn);  // nothing new: nothing drawn
    glfwSetWindowShouldClose(window->handle(), GLFW_TRUE);
    CHECK_FALSE(window->turn(0.1));

    // ---- again and again: nothing leaks
    window.reset();
    const std::uint64_t held = held_at_rest(live, opened.device);
    for (int i = 0; i < 3; ++i) {
        Window another(opened.device, live, state, {.width = 400, .height = 300});
        for (int turns = 0; turns < 3; ++turns) another.turn(0.01);
    }
    CHECK(held_at_rest(live, opened.device) == held);
}
