// Input as X11 delivers it: modifiers, number fields that are typed into, and keys while a text field has them.
#include <catch2/catch_test_macros.hpp>

#include "panels_shown.h"
#include "runtime/base/at.h"

using namespace view_test;

namespace {

PanelsShown shown_at_rest(const Opened& opened) {
    ViewState state{.max_tokens = 0};
    state.head = HeadId{1, 1};
    return {opened, state, {.text = state.prompt}};
}

/// The middle of a number field, which knows its place while it has the keys.
std::pair<double, double> middle_of(PanelsShown& s, Area area) {
    s.viewer.at().area = area;
    s.viewer.touch(), s.user.settle();
    const Box box = s.viewer.at().area_box;
    s.viewer.at().area.reset();
    return {static_cast<double>(box.x + box.wide / 2), static_cast<double>(box.y + box.high / 2)};
}

}  // namespace

TEST_CASE("Shift and a click pin the key, with the modifiers that X11 reports", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    PanelsShown s = shown_at_rest(opened);
    const MapView map = s.viewer.panes().front().map;
    s.user.move(static_cast<double>(map.x_of(3.5)), static_cast<double>(map.y_of(9.5)));
    s.user.hold_shift();
    s.user.click();
    CHECK(s.viewer.state().pins == std::vector<Pin>{{Pin::Kind::key, 3}});
    s.user.release_shift();
    s.user.move(static_cast<double>(map.x_of(4.5)), static_cast<double>(map.y_of(9.5)));  // no double-click
    s.user.click();
    CHECK(s.viewer.state().pins == std::vector<Pin>{{Pin::Kind::key, 3}, {Pin::Kind::query, 9}});

    // ---- the same in the text: its first token
    s.viewer.state().pins.clear();
    const Box& text = s.viewer.layout().tokens;
    s.user.move(static_cast<double>(text.x) + 18, static_cast<double>(text.y) + text_above + 10);
    REQUIRE(s.viewer.at().token == 0);
    s.user.hold_shift();
    s.user.click();
    CHECK(s.viewer.state().pins == std::vector<Pin>{{Pin::Kind::key, 0}});
    s.user.release_shift();
    s.user.click();
    CHECK(s.viewer.state().pins == std::vector<Pin>{{Pin::Kind::query, 0}});
}

TEST_CASE("a number field takes digits after one click, and says its range", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    PanelsShown s = shown_at_rest(opened);
    const auto click_on = [&](Area area) {
        const auto [x, y] = middle_of(s, area);
        s.user.move(x, y);
        s.user.click();
        REQUIRE(s.viewer.at().area == area);
    };
    click_on(Area::length);
    s.user.type("120");
    CHECK(s.viewer.at().max_tokens == 120);
    s.user.take_note();
    s.user.type("0000");  // beyond the range: what fits stays, and the range is named
    CHECK(s.viewer.at().max_tokens == 12000);
    CHECK(s.user.take_note() == "tokens: 0 to 100000");
    click_on(Area::temperature);
    s.user.type("0.7");
    CHECK(s.viewer.at().sampling.temperature == 0.7);
    click_on(Area::speed);
    s.user.type("30");
    CHECK(s.live.speed() == 30);
    CHECK(has_text(texts_of(s.window), "tok/s 30"));
    s.live.set_speed(5);  // as the command does for the built-in model
    CHECK(has_text(texts_of(s.window), "tok/s 5"));
    s.user.press(GLFW_KEY_ESCAPE);
    CHECK_FALSE(s.viewer.at().area.has_value());
}

TEST_CASE("quitting and stopping work while a text field has the keys", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    PanelsShown s = shown_at_rest(opened);
    for (const bool find : {false, true}) {  // the prompt, and the line that finds a token
        CAPTURE(find);
        find ? s.user.type("/") : s.user.press(GLFW_KEY_ENTER);
        REQUIRE(s.viewer.at().typing);
        REQUIRE(s.viewer.at().find == find);
        s.user.take_note();
        s.user.press(GLFW_KEY_F5, GLFW_MOD_SHIFT);
        CHECK(s.user.take_note() == "nothing is running");
        // Without a keyboard's layout a key has no name: the shortcut comes as from there.
        s.viewer.key({.character = U'q', .control = true}, no_edit_key, true);
        CHECK(s.viewer.take_request() == Request::quit);
        s.user.press(GLFW_KEY_ESCAPE);
    }
}
