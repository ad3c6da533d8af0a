// Heads of every kind of attention: small maps of their own shapes, distances of both signs, what is kept when another
// kind is selected, and lines between two texts.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <set>

#include "panels_shown.h"
#include "runtime/base/at.h"
#include "viewer/panels/moves.h"
#include "viewer/panels/panels.h"

using namespace view_test;

namespace {

/// An encoder–decoder of 2 and 4 heads a layer, that has read eight tokens and written six.
struct Translated {
    Opened opened{oracle + "bart"};
    ViewState state = [] {
        ViewState s{.max_tokens = 5};
        s.sampling.ignore_end = true;
        return s;
    }();
    PanelsShown shown;
    explicit Translated(const ViewState& more = {}, WindowOptions options = {})
        : shown(opened, with(more), {.text = {}, .ids = {5, 6, 7, 9, 11, 12, 5, 6}}, std::move(options)) {}
    const ViewState& with(const ViewState& more) {
        state.mini_maps = more.mini_maps, state.lines = more.lines, state.head = more.head;
        return state;
    }
};

/// The cell of a head in the head map: what is within its frame, when it is in focus.
Box cell_of(PanelsShown& s, const HeadId& head) {
    go_to_head(s.viewer, head);
    s.viewer.touch(), s.user.settle();
    const Image image = s.window.screenshot();
    const Box& box = s.viewer.layout().heads;
    float left = box.right(), right = box.x, top = box.bottom(), bottom = box.y;
    for (float y = box.y; y < box.bottom(); ++y)
        for (float x = box.x; x < box.right(); ++x) {
            if (packed(image.at(static_cast<int>(x), static_cast<int>(y))) != palette_of(Theme::dark).accent) continue;
            left = std::min(left, x), right = std::max(right, x), top = std::min(top, y), bottom = std::max(bottom, y);
        }
    REQUIRE(right > left + 6);
    return Box{left, top, right + 1 - left, bottom + 1 - top}.inset(2);
}

int colours_within(const Image& image, const Box& box) {
    std::set<std::uint32_t> colours;
    for (int y = static_cast<int>(box.y); y < static_cast<int>(box.bottom()); ++y)
        for (int x = static_cast<int>(box.x); x < static_cast<int>(box.right()); ++x)
            colours.insert(packed(image.at(x, y)));
    return static_cast<int>(colours.size());
}

}  // namespace

TEST_CASE("heads of layers that have other numbers of them have rows of their own", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    Translated t;
    const std::vector<HeadId>& heads = t.shown.live.heads();
    REQUIRE(heads.size() == 20);
    const HeadGrid grid = head_grid(t.shown.live);
    CHECK(grid.rows == 6);
    CHECK(grid.columns == 4);
    const std::vector<std::string> texts = texts_in(t.shown.window, t.shown.viewer.layout().heads);
    for (const char* text : {"e: encoder · x: cross attention", "e0", "L0", "x0"}) {
        CAPTURE(text);
        CHECK(std::ranges::count(texts, text) == 1);  // and no number of layers, which would not be that of the rows
    }
    const HeadOrderCells cells = head_cells(t.shown.live, t.state, {});
    REQUIRE(cells.size() == 24);
    for (std::size_t i = 0; i < cells.size(); ++i) {
        CAPTURE(i);
        const std::size_t row = i / 4;
        REQUIRE(cells[i].has_value() == (row > 1 || i % 4 < 2));  // the encoder's layers come first
        if (cells[i]) CHECK(heads[*cells[i]].head == static_cast<std::int64_t>(i % 4));
    }
}

TEST_CASE("layers without heads have no row, and are passed over", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    Opened opened{oracle + "jamba"};  // layers 1 and 4 of five attend
    ViewState state{.max_tokens = 3};
    state.sampling.ignore_end = true;
    PanelsShown s(opened, state, {.text = {}, .ids = {5, 6, 7, 9, 5, 6}}, {});
    CHECK(s.live.heads().size() == 8);
    CHECK(head_grid(s.live).rows == 2);
    CHECK(head_grid(s.live).columns == 4);
    go_to_head(s.viewer, HeadId{1, 2});
    const std::vector<std::pair<int, std::int64_t>> moves{
        {GLFW_KEY_DOWN, 4}, {GLFW_KEY_DOWN, 4}, {GLFW_KEY_UP, 1}, {GLFW_KEY_UP, 1}};
    for (const auto& [key, layer] : moves) {
        s.user.press(key);
        CHECK(s.viewer.runs().head() == HeadId{layer, 2});
    }
}

TEST_CASE("small maps have the shapes of their own heads", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    ViewState wanted;
    wanted.mini_maps = true;
    Translated t(wanted);
    PanelsShown& s = t.shown;
    keep(s.window.screenshot(), "small maps");
    for (const AttentionKind kind : {AttentionKind::encoder, AttentionKind::cross, AttentionKind::self}) {
        const HeadId head{1, 1, kind};
        const Box cell = cell_of(s, head);
        const Image image = s.window.screenshot();
        const std::int64_t rows = s.viewer.runs().rows(), keys = s.viewer.runs().columns();
        const std::vector<float> weights = attention_of(s.live, head, rows, keys);
        const ColourTable& table = colours_of(ColourMap::magma);
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t key = 0; key < (kind == AttentionKind::self ? row + 1 : keys); ++key) {
                CAPTURE(static_cast<int>(kind), row, key);
                if ((row == 0 || row == rows - 1) && (key == 0 || key == keys - 1))
                    continue;  // the frame's round corners
                const auto middle = [](std::int64_t i, std::int64_t count, float from, float length) {
                    return static_cast<int>(from + (static_cast<float>(i) + 0.5f) * length / static_cast<float>(count));
                };
                const Rgb pixel = image.at(middle(key, keys, cell.x, cell.wide), middle(row, rows, cell.y, cell.high));
                const auto step =
                    std::lround(255 * position_of(at(weights, row * keys + key), 1, AttentionScale::square_root));
                bool near = false;
                for (long other = std::max(0L, step - 1); other <= std::min(255L, step + 1); ++other)
                    near = near || at(table, other) == pixel;
                CHECK(near);
            }
    }
}

TEST_CASE("pins and parts go with the tokens that they are of", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    Translated t;
    PanelsShown& s = t.shown;
    const Pin query{Pin::Kind::query, 3}, key{Pin::Kind::key, 2};
    const auto look = [&](AttentionKind from, AttentionKind to) {  // by a click
        const Box cell = cell_of(s, HeadId{1, 1, to});
        go_to_head(s.viewer, HeadId{0, 0, from});
        s.viewer.state().pins = {query, key};
        s.viewer.state().part = Rectangle{0, 4, 0, 4};
        s.user.move(static_cast<double>(cell.x + cell.wide / 2), static_cast<double>(cell.y + cell.high / 2));
        s.user.click();
        REQUIRE(s.viewer.runs().head() == HeadId{1, 1, to});
        return s.viewer.state().pins;
    };
    CHECK(look(AttentionKind::self, AttentionKind::self) == std::vector{query, key});
    CHECK(s.viewer.state().part.has_value());
    CHECK(look(AttentionKind::encoder, AttentionKind::cross) == std::vector{key});
    CHECK_FALSE(s.viewer.state().part.has_value());
    CHECK(look(AttentionKind::encoder, AttentionKind::self).empty());
    go_to_head(s.viewer, HeadId{0, 0, AttentionKind::cross});
    s.viewer.state().pins = {query, key};
    go_to_head(s.viewer, HeadId{0, 0, AttentionKind::encoder});  // the same keys
    CHECK(s.viewer.state().pins == std::vector{key});
    s.viewer.state().pins = {query, key}, s.viewer.state().part = Rectangle{0, 4, 0, 4}, s.viewer.state().rows = 3;
    go_to_head(s.viewer, HeadId{0, 0, AttentionKind::self});
    CHECK(s.viewer.state().pins.empty());
    CHECK_FALSE(s.viewer.state().part.has_value());
    CHECK_FALSE(s.viewer.state().rows.has_value());
    s.viewer.state().pins = {query, key};
    go_to_head(s.viewer, HeadId{0, 0, AttentionKind::cross});  // the same queries
    CHECK(s.viewer.state().pins == std::vector{query});
}

TEST_CASE("both texts of cross attention are shown, with lines between them", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    ViewState wanted;
    wanted.head = HeadId{1, 2, AttentionKind::cross};
    Translated t(wanted);
    PanelsShown& s = t.shown;
    const Box& panel = s.viewer.layout().tokens;
    const double first = static_cast<double>(panel.y + text_above) + 12, second = first + 2 * text_line + 4;
    s.user.move(static_cast<double>(panel.x) + 18, second);  // the second text has the queries
    CHECK(s.viewer.at().token == 0);
    s.user.click();
    CHECK(s.viewer.state().pins == std::vector<Pin>{{Pin::Kind::query, 0}});
    s.user.move(static_cast<double>(panel.x) + 18, first);  // the first one has none
    CHECK_FALSE(s.viewer.at().token.has_value());
    const Box between{panel.x + 4, static_cast<float>(first) + 16, panel.wide - 30, text_line - 8};
    s.user.move(2, 2);
    const Image without = s.window.screenshot();
    CHECK(colours_within(without, between) == 2);  // and the line that divides them
    s.user.type("k");
    const Image with = s.window.screenshot();
    keep(with, "cross lines");
    CHECK(colours_within(with, between) > 4);
    s.user.type("r");
    CHECK(s.user.take_note() == "cross-attention has no relative positions: its keys are another text");
    CHECK(s.viewer.state().axis == KeyAxis::absolute);
}

TEST_CASE("in a low window both texts of cross attention have a line", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened(oracle + "bart");
    ViewState state{.max_tokens = 5};
    state.sampling.ignore_end = true;
    state.head = HeadId{1, 2, AttentionKind::cross};
    PanelsShown s(opened, state, {.text = {}, .ids = {5, 6, 7, 9}}, {}, 800, 500);
    const Box& panel = s.viewer.layout().tokens;
    keep(s.window.screenshot(), "two texts in a low window");
    TextLog log;
    static_cast<void>(s.window.screenshot());
    const auto shown = [&](const std::string& token) {  // all of it
        for (std::size_t i = 0; i < log.texts.size(); ++i)
            if (log.texts[i] == token && panel.has(log.places[i].x, log.places[i].y))
                return log.places[i].y >= panel.y + text_above && log.places[i].bottom() <= panel.bottom() - 6;
        return false;
    };
    CHECK(shown(s.viewer.runs().a().running_source.tokens().back().text));
    CHECK(shown(s.viewer.runs().a().running_text.tokens().back().text));
    CHECK(has_text(log.texts, "Texts"));
    CHECK(has_text(log.texts, "e: encoder · x: cross"));  // not cut off
    CHECK_FALSE(has_text(log.texts, "e: encoder · x: cross att"));
}

TEST_CASE("an encoder's map by distance has keys before and after the query", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened(oracle + "bert");
    ViewState state{.prompt = "the dog chased the birds and the birds chased the dog"};
    state.head = HeadId{1, 1};
    PanelsShown s(opened, state, {.text = state.prompt});
    const std::int64_t n = s.viewer.runs().rows();
    const std::vector<float> weights = attention_of(s.live, *state.head, n, n);
    s.user.type("r");
    REQUIRE(s.viewer.state().axis == KeyAxis::relative);
    REQUIRE(s.viewer.runs().columns() == 2 * n - 1);
    const Image image = s.window.screenshot();
    keep(image, "distances");
    const MapView& map = s.viewer.panes().front().map;
    const ColourTable& table = colours_of(ColourMap::magma);
    for (std::int64_t row = 0; row < n; ++row)
        for (std::int64_t column = 0; column < 2 * n - 1; ++column) {
            CAPTURE(row, column);
            const std::int64_t key = row + n - 1 - column;
            const ImU32 pixel = packed(image.at(static_cast<int>(map.x_of(static_cast<double>(column) + 0.3)),
                                                static_cast<int>(map.y_of(static_cast<double>(row) + 0.3))));
            if (key < 0 || key >= n) {
                CHECK(pixel == palette_of(Theme::dark).panel);
                CHECK_FALSE(s.viewer.runs().key_of({row, column}).has_value());
                continue;
            }
            CHECK(s.viewer.runs().key_of({row, column}) == key);
            const auto step =
                std::lround(255 * position_of(at(weights, row * n + key), 1, AttentionScale::square_root));
            bool near = false;
            for (long other = std::max(0L, step - 1); other <= std::min(255L, step + 1); ++other)
                near = near || packed(at(table, other)) == pixel;
            CHECK(near);
        }
    s.user.move(static_cast<double>(map.x_of(static_cast<double>(n - 1) + 2.5)), static_cast<double>(map.y_of(5.5)));
    REQUIRE(s.viewer.runs().reading().has_value());
    CHECK(s.viewer.runs().reading()->query == 5);
    CHECK(s.viewer.runs().reading()->key == 3);  // two before
}

TEST_CASE("Alt alone opens the menus, and digits go into the number that has the keys", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    ViewState state{.max_tokens = 0};
    state.head = HeadId{1, 0};
    PanelsShown s(opened, state, {.text = state.prompt});
    Viewer& viewer = s.viewer;
    s.user.press(GLFW_KEY_LEFT_ALT);
    CHECK(viewer.at().menu == Menu::file);
    s.user.press(GLFW_KEY_LEFT_ALT);
    CHECK_FALSE(viewer.at().menu.has_value());
    GLFWwindow* window = s.window.handle();
    const auto alt = [&](int action) { inject(glfwSetKeyCallback, window, GLFW_KEY_LEFT_ALT, 0, action, 0); };
    alt(GLFW_PRESS);
    s.user.press(GLFW_KEY_LEFT, GLFW_MOD_ALT);  // picks a key
    alt(GLFW_RELEASE);
    CHECK_FALSE(viewer.at().menu.has_value());
    alt(GLFW_PRESS);
    inject(glfwSetWindowFocusCallback, window, GLFW_FALSE);  // Alt+Tab
    alt(GLFW_RELEASE);
    CHECK_FALSE(viewer.at().menu.has_value());

    for (int i = 0; i < area_count && viewer.at().area != Area::temperature; ++i) s.user.press(GLFW_KEY_TAB);
    s.user.type("0.75x");
    CHECK(viewer.at().sampling.temperature == 0.75);
    keep(s.window.screenshot(), "typed number");
    s.user.press(GLFW_KEY_BACKSPACE);
    CHECK(viewer.at().sampling.temperature == 0.7);
    s.user.press(GLFW_KEY_TAB), s.user.press(GLFW_KEY_TAB);
    REQUIRE(viewer.at().area == Area::seed);
    s.user.type("1.23");
    CHECK(viewer.at().sampling.seed == 123);
    s.user.press(GLFW_KEY_UP);
    CHECK(viewer.at().sampling.seed == 124);
    s.user.press(GLFW_KEY_TAB);
    s.user.type("12");
    s.user.press(GLFW_KEY_ENTER);
    s.user.until_ended();
    CHECK(viewer.state().max_tokens == 12);
    CHECK(viewer.runs().a().version.run == 2);
}

TEST_CASE("a character without a font is a code point in a field, and reaches the model as itself",
          "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    ViewState state{.prompt = "Mia 🦊", .max_tokens = 0};
    PanelsShown s(opened, state, {.text = state.prompt});
    CHECK(s.viewer.at().prompt == "Mia ‹U+1F98A›");
    s.user.press(GLFW_KEY_ENTER);
    REQUIRE(s.viewer.at().typing);
    s.user.press(GLFW_KEY_END);
    s.user.type(" Ж ‹U+0041› 🦉");
    CHECK(s.viewer.at().prompt == "Mia ‹U+1F98A› Ж ‹U+0041› ‹U+1F989›");
    keep(s.window.screenshot(), "missing letters");
    s.user.press(GLFW_KEY_ENTER);
    s.user.until_ended();
    CHECK(s.viewer.state().prompt == "Mia 🦊 Ж ‹U+0041› 🦉");
}

TEST_CASE("the help has columns of about one length, and scrolls where it has no room", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    ViewState state{.max_tokens = 0};
    PanelsShown s(opened, state, {.text = state.prompt});
    s.user.type("?");
    const Image before = s.window.screenshot();
    keep(before, "help");
    for (float column = 0; column < 4; ++column)  // each has text in its lower half
        CHECK(colours_within(before, {40 + 280 * column, 380, 240, 100}) > 4);
    s.viewer.set_scale(2);
    s.user.settle();
    const Image above = s.window.screenshot();
    keep(above, "help large");
    s.user.press(GLFW_KEY_END);
    const Image below = s.window.screenshot();
    keep(below, "help below");
    CHECK(above.rgb != below.rgb);
    s.user.press(GLFW_KEY_HOME);
    CHECK(s.window.screenshot().rgb == above.rgb);
}
