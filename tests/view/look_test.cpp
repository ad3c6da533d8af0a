// The window explains itself: titles, legends and tooltips, and what small windows keep.
#include <catch2/catch_test_macros.hpp>

#include "panels_shown.h"
#include "runtime/base/format.h"
#include "viewer/panels/panels.h"

using namespace view_test;

namespace {

/// Pixels of a box that are not the same in both pictures.
int changed(const Image& a, const Image& b, const Box& box) {
    int count = 0;
    for (int y = static_cast<int>(box.y); y < static_cast<int>(box.bottom()); ++y)
        for (int x = static_cast<int>(box.x); x < static_cast<int>(box.right()); ++x)
            count += a.at(x, y) == b.at(x, y) ? 0 : 1;
    return count;
}

/// Pixels of a box that have not the colour of its corner.
int inked(const Image& image, const Box& box) {
    const Rgb corner = image.at(static_cast<int>(box.x), static_cast<int>(box.y));
    int count = 0;
    for (int y = static_cast<int>(box.y); y < static_cast<int>(box.bottom()); ++y)
        for (int x = static_cast<int>(box.x); x < static_cast<int>(box.right()); ++x)
            count += image.at(x, y) == corner ? 0 : 1;
    return count;
}

}  // namespace

TEST_CASE("axes have titles, colours a legend and numbers a tooltip", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    ViewState state{.max_tokens = 4};
    state.head = HeadId{1, 0};
    PanelsShown s(opened, state, {.text = state.prompt});
    const Palette& palette = palette_of(Theme::dark);
    const Image plain = s.window.screenshot();
    keep(plain, "explained");
    CHECK(has_colour(plain, s.viewer.panes().back().places.key_title, palette.ink));
    CHECK(has_colour(plain, s.viewer.panes().back().places.row_title, palette.ink));

    // ---- statistics have equal decimals, below one another
    CHECK(has_text(texts_of(s.window), "mean distance (tokens)"));
    int numbers_seen = 0;
    for (const std::string& text : texts_in(s.window, s.viewer.layout().numbers)) {
        const std::size_t point = text.find('.');
        if (text.find_first_not_of("0123456789.") != std::string::npos || point == std::string::npos) continue;
        CAPTURE(text);
        CHECK(text.size() - point == 4);
        ++numbers_seen;
    }
    CHECK(numbers_seen >= 5);

    // ---- generated tokens are underlined
    const Layout layout = s.viewer.layout();
    const auto underlined = [&](std::int64_t token) {
        Box box = at(s.viewer.runs().a().running_text.tokens(), token).box;
        box.x += layout.tokens.x + 12, box.y += layout.tokens.y + text_above;
        const auto pixel = [&](float y) { return plain.at(static_cast<int>(box.x) + 1, static_cast<int>(y)); };
        return !(pixel(box.bottom() - 2) == pixel(box.y + 1));
    };
    CHECK_FALSE(underlined(2));
    CHECK(underlined(21));

    // ---- the legend of the heads is that of what they show
    const Box &heads = layout.heads, legend{heads.x + 12, heads.bottom() - 64, heads.wide - 24, 60};
    CHECK(has_text(texts_of(s.window), "entropy"));
    s.user.type("g");
    CHECK(changed(plain, s.window.screenshot(), legend) > 100);
    CHECK(has_text(texts_of(s.window), "weight, √ scale"));
    CHECK(has_text(texts_of(s.window), "each cell: a head's whole map"));
    s.user.type("s");
    CHECK(has_text(texts_of(s.window), "weight, linear scale"));
    s.user.type("ssgi");
    const Image sorted = s.window.screenshot();
    keep(sorted, "sorted");
    const HeadCells cells = lay_head_cells(heads, head_grid(s.live), 1);
    CHECK(has_colour(sorted, {heads.x + 4, cells.box.y, cells.left - heads.x - 8, cells.side()}, palette.faint));
    CHECK(inked(sorted, cells.at(2, 2).inset(4)) > 10);  // the name of the head
    s.user.type("i");

    // ---- a tooltip at a number, beside its panel
    const Box& numbers = layout.numbers;
    s.user.move(static_cast<double>(numbers.right()) - 24, static_cast<double>(numbers.y) + 50);
    keep(s.window.screenshot(), "tooltip");
    CHECK(changed(plain, s.window.screenshot(), layout.focus) > 500);
    s.user.move(-1, -1);

    // ---- in the light theme strong weights are dark
    s.user.type("t");
    const MapView& map = s.viewer.panes().front().map;
    const Rgb one = s.window.screenshot().at(static_cast<int>(map.x_of(0.5)), static_cast<int>(map.y_of(0.5)));
    CHECK(lightness(one) < 10);  // the first token attends to itself
    keep(s.window.screenshot(), "light");
}

TEST_CASE("every number of a panel has a tooltip, whatever the map shows", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    ViewState state{.max_tokens = 4};
    state.head = HeadId{1, 0};
    PanelsShown s(opened, state, {.text = state.prompt}, {}, 1200, 800);
    for (int mask = 0; mask < 16; ++mask) {
        s.viewer.state().modifiers = {(mask & 1) != 0, (mask & 2) != 0, (mask & 4) != 0, (mask & 8) != 0};
        s.viewer.touch(), s.user.settle();
        CAPTURE(mask);
        CHECK(unexplained(s.window, boxes_of_numbers(s.viewer)) == std::vector<std::string>{});
    }
    for (const char* keys : {"i", "ir", "rg,"}) {  // sorted heads; distances; thumbnails and back in time
        s.user.type(keys);
        CAPTURE(keys);
        CHECK(unexplained(s.window, boxes_of_numbers(s.viewer)) == std::vector<std::string>{});
    }
    CHECK(has_text(texts_of(s.window), "viewing token 22 of 23 · 20 prompt tokens"));
    // ---- the numbers of the prompt are fields
    const TextLog log;
    static_cast<void>(s.window.screenshot());
    const Box& prompt = s.viewer.layout().prompt;
    CHECK(std::ranges::count_if(log.explained, [&](const Box& box) { return prompt.has(box.x, box.y); }) == 5);
}

TEST_CASE("numbers in cells are neither cut off nor struck through", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    ViewState state{.max_tokens = 0};
    state.head = HeadId{2, 3};
    state.part = Rectangle{6, 14, 0.5, 8.5};
    PanelsShown s(opened, state, {.text = state.prompt});
    const MapView& map = s.viewer.panes().front().map;
    REQUIRE(map.pixels_per_row() >= 34);
    const auto high = static_cast<float>(map.pixels_per_row());
    // ---- all with as many decimals, none with the 0 before the point
    const std::int64_t n = s.viewer.runs().rows();
    const std::vector<float> weights = attention_of(s.live, *state.head, n, n);
    const std::vector<std::string> texts = texts_of(s.window);
    const auto point = std::ranges::find_if(texts, [](const std::string& text) { return text.starts_with("."); });
    REQUIRE(point != texts.end());
    const int decimals = static_cast<int>(point->size()) - 1;
    CHECK(decimals >= 2);
    for (std::int64_t row = 6; row < 14; ++row)
        for (std::int64_t key = 1; key <= std::min<std::int64_t>(row, 7); ++key) {
            const std::string number = format("{:.{}f}", at(weights, row * n + key), decimals);
            REQUIRE(number.starts_with("0."));
            CAPTURE(row, key, number);
            CHECK(std::ranges::count(texts, number.substr(1)) > 0);
        }
    const Image plain = s.window.screenshot();
    CHECK(inked(plain, Box{map.box.x + 2, map.y_of(8) + 2, map.x_of(1) - map.box.x - 4, high - 4}) == 0);
    const Box other{map.x_of(3) + 2, map.y_of(8) + 4, static_cast<float>(map.pixels_per_column()) - 4, high - 8};
    CHECK(inked(plain, other) > 20);
    s.user.move(static_cast<double>(map.x_of(5.5)), static_cast<double>(map.y_of(8.5)));
    REQUIRE(s.viewer.at().cell() == Cell{8, 5});
    keep(s.window.screenshot(), "crosshair");
    CHECK(changed(plain, s.window.screenshot(), other) == 0);
}

TEST_CASE("the label of the cell under the mouse replaces those that it would overlap", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    ViewState state{.max_tokens = 20};
    state.head = HeadId{1, 0};
    PanelsShown s(opened, state, {.text = state.prompt});
    const Pane& pane = s.viewer.panes().front();
    const auto pitch = static_cast<float>(pane.map.pixels_per_row());
    REQUIRE(pitch < 13);  // every other row has a label, which says where in the text it is
    for (const char* label : {"the·2", "cup·4"})
        CHECK(std::ranges::count(texts_in(s.window, s.viewer.layout().focus), label) == 2);
    const auto above = [&](std::int64_t row) {
        return Box{pane.places.row_labels.x, pane.map.y_of(row) + pitch / 2 - 16, pane.places.row_labels.wide, 9};
    };
    CHECK(has_colour(s.window.screenshot(), above(5), palette_of(Theme::dark).faint));
    s.user.move(static_cast<double>(pane.map.x_of(2.5)), static_cast<double>(pane.map.y_of(5.5)));
    keep(s.window.screenshot(), "hovered label");
    CHECK_FALSE(has_colour(s.window.screenshot(), above(5), palette_of(Theme::dark).faint));
}

TEST_CASE("the picture that is left shows the query in the text", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    ViewState state{.max_tokens = 0};
    state.head = HeadId{1, 0};
    state.prompt = "The key is in the kitchen.";
    for (int i = 0; i < 8; ++i) state.prompt += " Mia put the red cup on the table.";
    PanelsShown s(opened, state, {.text = state.prompt}, {}, 640, 480);
    const auto& tokens = s.viewer.runs().a().tokens.texts;
    const auto row = static_cast<double>(std::ranges::find(tokens, " kitchen") - tokens.begin());
    const MapView map = s.viewer.panes().front().map;
    const TextLog log;
    s.user.move(static_cast<double>(map.x_of(0.5)), static_cast<double>(map.y_of(row + 0.5)));
    const auto last = std::find(log.texts.rbegin(), log.texts.rend(), "Text");
    REQUIRE(last != log.texts.rend());
    CHECK(std::find(last.base(), log.texts.end(), "kitchen") != log.texts.end());
    // ---- of the figures in the bar the status goes last
    CHECK(has_text(log.texts, "finished"));
    CHECK_FALSE(has_text(log.texts, opened.device.caps().name.substr(0, 6)));
}

TEST_CASE("a window says which panels have no room, and which thumbnails are too small", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    ViewState state{.max_tokens = 0};
    state.head = HeadId{1, 0};
    LiveModel live(opened.model, {.on_version = WindowSystem::wake});
    live.start({.text = state.prompt}, state.sampling, state.max_tokens);
    Window window(opened.device, live, state, {.width = 1200, .height = 760});
    User user(window);
    user.until_ended();
    user.take_note();  // why the head was suggested
    glfwSetWindowSize(window.handle(), 640, 200);
    user.turn_until("the new size", [&] { return window.viewer().layout().bar.wide == 640; });
    user.settle();
    CHECK(user.take_note().starts_with("no room for: Cell, Statistics"));
    // ---- the frame of the focused head leaves the middle of its neighbours as it is
    const HeadCells cells = lay_head_cells(window.viewer().layout().heads, head_grid(live), 1);
    REQUIRE(cells.side() < 10);
    const auto middles = [&] {
        const Image picture = window.screenshot();
        std::vector<Rgb> colours;
        for (const auto& [row, column] : {std::pair{0, 0}, {0, 1}, {1, 1}, {2, 0}, {2, 1}}) {  // around row 1, column 0
            const Box cell = cells.at(row, column);
            colours.push_back(
                picture.at(static_cast<int>(cell.x + cell.wide / 2), static_cast<int>(cell.y + cell.high / 2)));
        }
        return colours;
    };
    const std::vector<Rgb> around = middles();
    for (int i = 0; i < 4; ++i) user.press(GLFW_KEY_RIGHT);
    CHECK(middles() == around);
    user.type("g");
    CHECK(user.take_note().starts_with("thumbnails of "));
    user.type("G");
    CHECK(window.viewer().state().large_heads);
}

TEST_CASE("boundaries between panels move by the mouse and by keys", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    ViewState state{.max_tokens = 0};
    state.head = HeadId{1, 0};
    LiveModel live(opened.model, {.on_version = WindowSystem::wake});
    live.start({.text = state.prompt}, state.sampling, state.max_tokens);
    Window window(opened.device, live, state, {.width = 1280, .height = 800});
    User user(window);
    user.until_ended();
    Viewer& viewer = window.viewer();
    const Layout before = viewer.layout();
    const auto middle = [&](std::size_t i) {
        const Box box = splitters(viewer.layout()).at(i).box;
        return std::pair{static_cast<double>(std::floor(box.x + box.wide / 2)),
                         static_cast<double>(std::floor(box.y + box.high / 2))};
    };
    const auto drag = [&](std::size_t i, double right, double down) {
        const auto [x, y] = middle(i);
        user.move(x, y);
        user.drag(x + right, y + down);
    };
    // ---- a drag moves the boundary with the mouse
    drag(0, 60, 0);
    CHECK(viewer.state().panels == PanelSizes{std::lround(before.heads.wide) + 60, 0, 0});
    CHECK(viewer.layout().heads.wide == before.heads.wide + 60);
    CHECK(viewer.layout().focus.wide == before.focus.wide - 60);
    drag(1, -40, 0);
    CHECK(viewer.layout().inspector.wide == before.inspector.wide + 40);
    drag(2, 0, -50);
    CHECK(viewer.layout().tokens.high == before.tokens.high + 50);
    // ---- its place says what it does
    const auto [x, y] = middle(0);
    user.move(x, y);
    const Image picture = window.screenshot();
    keep(picture, "splitter");
    CHECK(has_colour(picture, splitters(viewer.layout()).at(0).box, palette_of(Theme::dark).accent));
    CHECK(viewer.cursor() == ImGuiMouseCursor_ResizeEW);
    // ---- beyond what the map can spare it stays, and the size is that which is shown
    drag(0, 2000, 0);
    CHECK(viewer.layout().focus.wide >= 320);
    CHECK(viewer.state().panels.heads_width == std::lround(viewer.layout().heads.wide));
    // ---- a double-click and an action make it automatic again
    const auto [again_x, again_y] = middle(0);
    user.move(again_x, again_y);
    user.double_click();
    CHECK(viewer.state().panels.heads_width == 0);
    CHECK(viewer.layout().heads.wide == before.heads.wide);
    user.type("=");
    CHECK(viewer.state().panels == PanelSizes{});
    CHECK(viewer.layout() == before);
    // ---- by keys: the panel that has them; without one the map
    viewer.at().area = Area::text;
    user.type("*");
    CHECK(viewer.layout().tokens.high == before.tokens.high + 24);
    viewer.at().area = Area::heads;
    for (int i = 0; i < 2; ++i) user.type("_");
    CHECK(viewer.layout().heads.wide == before.heads.wide - 48);
    viewer.at().area.reset();
    for (const char* key : {"=", "*", "*"}) user.type(key);
    CHECK(viewer.layout().focus.wide == before.focus.wide + 96);
}

TEST_CASE("a window that begins without room for a panel says so, and one that the interface outgrows",
          "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    ViewState state{.max_tokens = 0};
    state.head = HeadId{1, 0};
    const auto beginning = [&](float scale, auto&& look) {
        LiveModel live(opened.model, {.on_version = WindowSystem::wake});
        live.start({.text = state.prompt}, state.sampling, state.max_tokens);
        Window window(opened.device, live, state, {.width = 1280, .height = 800, .scale = scale});
        User user(window);
        user.until_ended();
        look(window.viewer(), user);
    };
    beginning(1.9f, [](Viewer&, User& user) { CHECK(user.take_note().starts_with("no room for: Cell, Statistics")); });
    beginning(1, [](Viewer& viewer, User& user) {
        CHECK(user.take_note().empty());
        for (int i = 0; i < 20 && viewer.layout().inspector.wide > 0; ++i) {
            user.take_note();
            viewer.key({.character = U'+', .control = true}, no_edit_key, true);
            user.settle();
        }
        CHECK(user.take_note().starts_with("no room for: Cell"));
    });
}
