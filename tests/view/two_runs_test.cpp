// Two runs in a window: what panels say of both texts and of the cell under the mouse, and where their maps are.
#include <algorithm>
#include <cmath>

#include "panels_shown.h"
#include "runtime/base/at.h"
#include "viewer/panels/shown_value.h"

using namespace view_test;

namespace {

struct TwoShown {
    Opened opened;
    LiveModel a{opened.model, {.on_version = WindowSystem::wake}}, b;
    Window window;
    Viewer& viewer = window.viewer();
    User user{window};

    TwoShown(const ViewState& state, LivePrompt prompt, int width, int height)
        : b(opened.model,
            {.precision = state.compared->precision.value_or(Precision::f16), .on_version = WindowSystem::wake}),
          window(opened.device, PanelsShown::started(a, state, std::move(prompt)), state,
                 {.width = width, .height = height, .frozen = true, .compared = &b}) {
        user.until_ended();
        user.turn_until("the second run",
                        [&] { return viewer.runs().comparison()->settled(a.version(), b.version()); });
        user.settle();
    }
    void point_at(const Pane& pane, double row, double column) {
        const MapView map = pane.map;
        user.move(static_cast<double>(map.x_of(column + 0.5)), static_cast<double>(map.y_of(row + 0.5)));
    }
};

ViewState compared_to(const Compared& compared, std::int64_t tokens) {
    ViewState state{.max_tokens = tokens};
    state.compared = compared;
    state.head = HeadId{1, 0};
    return state;
}

}  // namespace

TEST_CASE("the difference of two runs gives back what was shown before it", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    TwoShown s(compared_to({.precision = Precision::f32}, 2), {.text = ViewState::default_prompt}, 900, 640);
    ViewState& state = s.viewer.state();
    state.statistic = HeadStatistic::induction;
    s.user.type("dd");
    CHECK(state.statistic == HeadStatistic::induction);
    CHECK(state.shown == ShownRuns::both);
    s.user.type("]d");
    CHECK(state.statistic == HeadStatistic::difference);
    s.user.type("d");
    CHECK(state.statistic == HeadStatistic::induction);
    CHECK(state.shown == ShownRuns::b);
    s.user.type("dw");  // another way back
    CHECK(state.statistic == HeadStatistic::induction);
    s.user.type("d");
    state.statistic = HeadStatistic::self;  // chosen meanwhile: it stays
    s.user.type("d");
    CHECK(state.statistic == HeadStatistic::self);
}

TEST_CASE("the difference of two runs has the cell's numbers and lists of both", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    TwoShown s(compared_to({.precision = Precision::f32}, 2), {.text = ViewState::default_prompt}, 1280, 800);
    s.user.type("d");
    REQUIRE(s.viewer.panes().size() == 1);
    s.point_at(s.viewer.panes()[0], 9, 2);
    const std::vector<std::string> texts = texts_in(s.window, s.viewer.layout().inspector);
    keep(s.window.screenshot(), "numbers of a difference");
    for (const char* name : {"logit", "rank in row", "row sum", "entropy"}) {
        CAPTURE(name);
        CHECK(after(texts, name).find(" | ") != std::string::npos);
    }
    for (const char* run : {" · A", " · B"})
        CHECK(std::ranges::count_if(texts, [&](const std::string& text) { return text.ends_with(run); }) == 1);
    s.user.type("[");  // one run: one number
    CHECK(after(texts_in(s.window, s.viewer.layout().inspector), "logit").find(" | ") == std::string::npos);
}

TEST_CASE("both panes say their own texts and lists, and mark the cell under the mouse", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const ViewState state = [] {
        ViewState one = compared_to({.prompt = "Tom saw the old blue box"}, 4);
        one.prompt = "Mia saw the red box";
        return one;
    }();
    TwoShown s(state, {.text = state.prompt}, 1400, 900);
    REQUIRE(s.viewer.panes().size() == 2);
    const auto row_of = [&](const RunView& run, const std::string& text) {
        const auto token = std::ranges::find(run.tokens.texts, text) - run.tokens.texts.begin();
        return s.viewer.runs().row_slots(run).slot_of(token);
    };
    const RunView &a = s.viewer.runs().a(), &b = *s.viewer.runs().b();
    const std::int64_t box = row_of(a, " box");
    REQUIRE(box == row_of(b, " box"));
    s.point_at(s.viewer.panes()[1], static_cast<double>(box), 0);
    std::vector<std::string> texts = texts_of(s.window);
    for (const char* text : {"Text of A", "Text of B", "Mia", "red", "Tom", "old", "blue", "“box” attends to · A",
                             "“box” attends to · B", "Mia·0", "Tom·0"})
        CHECK(std::ranges::count(texts, text) >= 1);
    // ---- the crosshair is in both
    const Image seen = s.window.screenshot();
    keep(seen, "two-texts");
    for (const Pane& pane : s.viewer.panes()) {
        const auto y = pane.map.y_of(static_cast<double>(box));
        CHECK(has_colour(seen, {pane.map.x_of(0) - 1, y - 1, static_cast<float>(pane.map.pixels_per_column()), 3},
                         palette_of(Theme::dark).accent));
    }
    // ---- a query that only B has
    const std::int64_t old = row_of(b, " old");
    REQUIRE_FALSE(s.viewer.runs().row_slots(a).token(old).has_value());
    s.point_at(s.viewer.panes()[1], static_cast<double>(old), 0);
    texts = texts_of(s.window);
    CHECK(after(texts, "p in A") == "–");
    const auto token = s.viewer.runs().row_slots(b).token(old).value();
    const std::vector<float> weights = attention_of(s.b, *state.head, b.version.rows, b.version.rows);
    CHECK(after(texts, "p in B") == value_text(at(weights, token * b.version.rows), {}));
    CHECK(std::ranges::count(texts, "p") == 0);  // of which run?
    CHECK(has_text(texts, "“old” attends to · B"));
    // ---- labels of thinned axes say where their tokens are, in B where A has none
    glfwSetWindowSize(s.window.handle(), 640, 480);
    s.user.turn_until("the new size", [&] { return s.viewer.layout().bar.wide == 640; });
    s.user.settle();
    s.point_at(s.viewer.panes()[1], static_cast<double>(old), 0);
    CHECK(has_text(texts_of(s.window), "– | old·" + std::to_string(token)));
}

TEST_CASE("side by side maps have the room of their panel, and the colour bar is below them", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    TwoShown s(compared_to({.precision = Precision::f32}, 40), {.text = ViewState::default_prompt}, 1280, 800);
    REQUIRE(s.viewer.runs().rows() == 37);
    const Pane &left = s.viewer.panes()[0], &right = s.viewer.panes()[1];
    keep(s.window.screenshot(), "below");
    CHECK(left.map.box.wide >= 270);
    CHECK(left.map.box.high == left.map.box.wide);
    CHECK(right.map.box.wide == left.map.box.wide);
    CHECK(right.map.box.x >= left.map.box.right() + 12);
    CHECK(right.map.box.right() <= s.viewer.layout().focus.right());
    const Box bar = right.places.bar;
    CHECK(bar.y >= left.map.box.bottom());
    CHECK(bar.bottom() <= s.viewer.layout().focus.bottom());
    // ---- it works as an upright one
    const double maximum = static_cast<double>(bar.right()) - 10, middle = static_cast<double>(bar.y) + 44;
    s.user.move(maximum, middle);
    s.user.drag(maximum - static_cast<double>(bar.wide) / 4, middle);
    CHECK(s.viewer.state().range.min == 0);
    CHECK(s.viewer.state().range.max < 0.6);
    CHECK(s.viewer.state().range.max > 0.4);
    s.user.move(maximum, middle);
    s.user.click(), s.user.click();
    CHECK(s.viewer.state().range == ValueRange{});
}

TEST_CASE("every number of two runs has a tooltip, whatever the maps show", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    TwoShown s(compared_to({.precision = Precision::f32}, 2), {.text = ViewState::default_prompt}, 1280, 800);
    for (const ShownRuns shown : {ShownRuns::both, ShownRuns::difference})
        for (int mask = 0; mask < 16; ++mask) {
            s.viewer.show(shown);
            s.viewer.state().modifiers = {(mask & 1) != 0, (mask & 2) != 0, (mask & 4) != 0, (mask & 8) != 0};
            s.viewer.touch(), s.user.settle();
            CAPTURE(name_of(shown), mask);
            CHECK(unexplained(s.window, boxes_of_numbers(s.viewer)) == std::vector<std::string>{});
        }
    s.viewer.state().modifiers = {};
    s.user.type("g");
    CHECK(unexplained(s.window, boxes_of_numbers(s.viewer)) == std::vector<std::string>{});
    // ---- the bar of a difference has a title, and one end
    CHECK(std::ranges::count(texts_of(s.window), "B − A") == 3);  // of the map, its bar and the thumbnails
    const double range = s.viewer.state().difference_max;
    s.user.take_note();
    s.user.type("{");
    CHECK(s.user.take_note().starts_with("the range of a difference is symmetric"));
    CHECK(s.viewer.state().difference_max == range);
    s.user.type(")");
    CHECK(s.viewer.state().difference_max > range);
}

TEST_CASE("a second run of the same text shows all of it", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    TwoShown s(compared_to({.precision = Precision::f32}, 30), {.text = ViewState::default_prompt}, 1400, 900);
    REQUIRE(s.viewer.runs().a().tokens.texts.back() == "<|endoftext|>");
    CHECK(std::ranges::count(texts_of(s.window), "<|endoftext|>") == 2);
    s.user.type("]");
    const std::vector<std::string> texts = texts_of(s.window);
    CHECK(std::ranges::count(texts, "<|endoftext|>") == 1);
    CHECK(has_text(texts, "Text of B"));
}

TEST_CASE("numbers of two runs are those of the cells that are drawn, and both maps have their places",
          "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    constexpr std::int64_t n = 250;
    std::vector<std::int32_t> ids(n);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(3 + i * i % 61);
    TwoShown s(compared_to({.precision = Precision::f32}, 0), {.text = {}, .ids = ids}, 1000, 620);
    const RunView &a = s.viewer.runs().a(), &b = *s.viewer.runs().b();
    REQUIRE(a.frame->map.level > 0);
    REQUIRE(s.viewer.layout().inspector.wide > 0);
    s.point_at(s.viewer.panes()[1], 121, 31);
    const Cell cell = s.viewer.at().cell().value();
    const std::int64_t size = std::int64_t{1} << a.frame->map.level, row = cell.first / size * size,
                       column = cell.second / size * size;
    const auto pooled = [&](LiveModel& live) {
        const std::vector<float> p = attention_of(live, *s.viewer.state().head, n, n);
        double sum = 0;
        for (std::int64_t i = row; i < row + size; ++i)
            for (std::int64_t j = column; j < column + size; ++j) sum += static_cast<double>(at(p, i * n + j));
        return sum / static_cast<double>(size);
    };
    const std::string name = "sum of " + std::to_string(size) + " × " + std::to_string(size);
    const auto near = [&](const std::string& text, double value) {
        return std::abs(std::strtod(text.c_str(), nullptr) - value) <= 1e-5;
    };
    const std::vector<std::string> texts = texts_of(s.window);
    CHECK(near(after(texts, name + " in A"), pooled(s.a)));
    CHECK(near(after(texts, name + " in B"), pooled(s.b)));
    REQUIRE(b.frame->reading.has_value());
    CHECK(after(texts, "p in B") == value_text(b.frame->reading->weight, {}));

    // ---- the places of B's map are those of A's
    const Pane &left = s.viewer.panes()[0], &right = s.viewer.panes()[1];
    CHECK(left.map.box.wide == right.map.box.wide);
    REQUIRE(right.places.bar_lies);
    CHECK(right.places.bar.x == left.map.box.x);
    CHECK(right.places.bar.y > right.map.box.bottom());
    CHECK(right.places.key_labels.x == right.map.box.x);
    CHECK(right.places.bar.right() <= s.viewer.layout().focus.right());

    // ---- the same without the panel, in the heading
    glfwSetWindowSize(s.window.handle(), 700, 520);
    s.user.turn_until("the new size", [&] { return s.viewer.layout().bar.wide == 700; });
    s.user.settle();
    s.point_at(s.viewer.panes()[1], 121, 31);
    CHECK(has_text(texts_of(s.window), "sum of "));
}
