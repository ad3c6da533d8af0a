// The panels by mouse and keyboard: the colour bar, numbers in cells, sums of rows, menus and areas, and models of
// other kinds.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <cstring>
#include <optional>

#include "panels_shown.h"
#include "runtime/base/at.h"
#include "runtime/gpu/transfer.h"
#include "runtime/io/safetensors.h"
#include "runtime/models/config.h"
#include "runtime/models/image_processor.h"
#include "runtime/session/model_access.h"
#include "viewer/panels/shown_value.h"
#include "viewer/window/headless.h"

using namespace view_test;

TEST_CASE("the colour bar's ends, numbers in cells, and sums of rows", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    ViewState state{.max_tokens = 0};
    state.head = HeadId{2, 3};
    PanelsShown s(opened, state, {.text = state.prompt});
    const std::int64_t n = s.viewer.runs().rows();
    const std::vector<float> weights = attention_of(s.live, *state.head, n, n);

    // ---- the dark end by the mouse: a quarter of the way up the bar, on a √ scale a sixteenth
    const Box bar = s.viewer.panes().back().places.bar;
    const double x = static_cast<double>(bar.x) + 44, low = static_cast<double>(bar.bottom()),
                 high = static_cast<double>(bar.high);
    s.user.move(x, low);
    s.user.drag(x, low - high / 4);
    CHECK(std::abs(s.viewer.state().range.min - 1.0 / 16) < 0.005);
    CHECK(s.viewer.state().range.max == 1);
    CHECK(worst_of_map(s.window.screenshot(), s.viewer, weights, true) <= 1);
    s.user.type("(");  // the bright end by a key
    CHECK(s.viewer.state().range.max < 0.95);
    keep(s.window.screenshot(), "range");
    CHECK(worst_of_map(s.window.screenshot(), s.viewer, weights, true) <= 1);
    s.user.move(x, low);
    s.user.click(), s.user.click();  // twice: as usual
    CHECK(s.viewer.state().range.min == 0);
    s.user.type("0");
    CHECK(s.viewer.state().range == ValueRange{});

    // ---- numbers
    s.viewer.state().part = Rectangle{4, 12, 0, 8};
    s.viewer.touch(), s.user.settle();
    const Image numbered = s.window.screenshot();
    keep(numbered, "numbers");
    CHECK(s.viewer.panes().front().map.pixels_per_row() >= 34);
    const auto inked = [&](std::int64_t row, std::int64_t key) {  // pixels in a cell that are not of its colour
        const MapView& map = s.viewer.panes().front().map;
        const int left = static_cast<int>(map.x_of(static_cast<double>(key))) + 4,
                  top = static_cast<int>(map.y_of(static_cast<double>(row))) + 4;
        int count = 0;
        for (int y = 0; y < static_cast<int>(map.pixels_per_row()) - 8; ++y)
            for (int i = 0; i < static_cast<int>(map.pixels_per_column()) - 8; ++i)
                count += numbered.at(left + i, top + y) == numbered.at(left, top) ? 0 : 1;
        return count;
    };
    CHECK(inked(6, 2) > 20);
    CHECK(inked(4, 7) == 0);  // masked
    s.user.type("f");

    // ---- sums of rows: all good; then a row's log-sum-exp is made wrong
    CHECK(s.viewer.runs().off_rows().empty());
    const Palette& palette = palette_of(Theme::dark);
    const auto strip = [&] {
        const Box& map = s.viewer.panes().front().map.box;
        return Box{map.x - 5, map.y, 3, map.high};
    };
    CHECK(has_colour(s.window.screenshot(), strip(), palette.good));
    CHECK_FALSE(has_colour(s.window.screenshot(), strip(), palette.bad));
}

TEST_CASE("a row that does not sum to 1 is named and found", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    LiveModel live(opened.model, {.precision = Precision::f32, .on_version = WindowSystem::wake});
    ViewState state{.max_tokens = 0};
    state.head = HeadId{1, 4};
    live.start({.text = state.prompt}, state.sampling, 0);
    wait_for_model(live);
    const TapSource& source = live.source(1);
    const auto heads = static_cast<std::uint64_t>(source.q.type->shape[1]);
    float lse = 0;
    const std::uint64_t place = (17 * heads + 4) * sizeof lse;
    gpu::download(opened.device.state(), source.lse.buffer, place, std::as_writable_bytes(std::span(&lse, 1)));
    lse += 0.02f;  // Σ p is exp(−0.02) then
    gpu::upload(opened.device.state(), source.lse.buffer, place, std::as_bytes(std::span(&lse, 1)));
    Window window(opened.device, live, state, {.width = 1200, .height = 760, .frozen = true});
    User user(window);
    user.settle();
    REQUIRE(window.viewer().runs().off_rows().size() == 1);
    CHECK(window.viewer().runs().off_rows()[0].row == 17);
    CHECK(std::abs(window.viewer().runs().off_rows()[0].sum - std::exp(-0.02f)) < 1e-4f);
    const Box& map = window.viewer().panes().front().map.box;
    const Image image = window.screenshot();
    keep(image, "off row");
    const auto at = [&](double row, float left) {
        return Box{map.x - left, std::round(window.viewer().panes().front().map.y_of(row + 0.3)), 3, 3};
    };
    for (const float left : {5.0f, 9.0f}) {  // wider than the strip of the others, for who sees no colours
        CHECK(has_colour(image, at(17, left), palette_of(Theme::dark).bad));
        CHECK_FALSE(has_colour(image, at(16, left), palette_of(Theme::dark).bad));
    }
    CHECK_FALSE(has_colour(image, at(16, 9), palette_of(Theme::dark).good));
    user.type("!");
    CHECK(window.viewer().state().pins == std::vector<Pin>{{Pin::Kind::query, 17}});
    CHECK(user.take_note() == "row 17 sums to 0.9802");
    user.press(GLFW_KEY_LEFT);  // another head: all is well
    CHECK(window.viewer().runs().off_rows().empty());
    user.type("!");
    CHECK(user.take_note() == "All rows sum to 1");
}

TEST_CASE("everything is reached by keys, and keys are what the user's file says", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    const std::string once = ViewState::default_prompt;
    ViewState state{.prompt = once + " cup. " + once + " cup. " + once, .max_tokens = 6};  // more than one line
    state.head = HeadId{1, 1};
    PanelsShown s(opened, state, {.text = state.prompt}, {.keys = KeyBindings("theme = Ctrl+L\nhelp = F1\n", "keys")});
    Viewer& viewer = s.viewer;
    s.user.type("t");
    CHECK(viewer.state().theme == Theme::dark);
    s.user.press(GLFW_KEY_F1);
    CHECK(viewer.at().help);
    keep(s.window.screenshot(), "keys");
    s.user.press(GLFW_KEY_ESCAPE);

    // ---- menus: F10, to the third one, its second line
    const HeadId before = viewer.runs().head();
    s.user.press(GLFW_KEY_F10);
    s.user.press(GLFW_KEY_RIGHT), s.user.press(GLFW_KEY_RIGHT), s.user.press(GLFW_KEY_DOWN);
    REQUIRE(viewer.at().menu == Menu::heads);
    keep(s.window.screenshot(), "menu");
    s.user.press(GLFW_KEY_ENTER);
    CHECK_FALSE(viewer.at().menu.has_value());
    CHECK(viewer.runs().head() == HeadId{before.layer + 1, before.head});
    s.user.move(20, 15), s.user.click();  // and by the mouse: the first menu, its third line
    REQUIRE(viewer.at().menu == Menu::file);
    s.user.move(60, 36 + 6 + 2 * 23 + 10);
    CHECK(viewer.at().menu_line == 2);
    s.user.move(900, 400), s.user.click();  // elsewhere: closed, and nothing else
    CHECK_FALSE(viewer.at().menu.has_value());
    perform(viewer, action_named("colour-sink"));
    CHECK(viewer.state().statistic == HeadStatistic::first);
    perform(viewer, action_named("colour-diff"));  // of two runs
    CHECK(viewer.state().statistic == HeadStatistic::first);
    CHECK(viewer.at().note.starts_with("Nothing to compare yet"));
    perform(viewer, action_named("colour-entropy"));
    s.user.type("h");
    CHECK_FALSE(viewer.state().head.has_value());
    CHECK(s.user.take_note().starts_with(head_name(viewer.runs().head()) + ", the most salient by induction: "));
    viewer.state().head = HeadId{before.layer + 1, before.head};
    CHECK(short_name(*viewer.state().head) == "L2 · H1");
    CHECK(short_name({0, 3, AttentionKind::encoder}) == "e0 · H3");
    CHECK(short_name({1, 2, AttentionKind::cross}) == "x1 · H2");
    CHECK(viewer.state().pins.empty());

    // ---- areas
    const auto tab_to = [&](Area area) {
        for (int i = 0; i < area_count && viewer.at().area != area; ++i) s.user.press(GLFW_KEY_TAB);
        REQUIRE(viewer.at().area == area);
        CHECK(has_colour(s.window.screenshot(), {0, 0, 1200, 760}, palette_of(viewer.state().theme).accent));
    };
    tab_to(Area::map);
    s.user.press(GLFW_KEY_UP), s.user.press(GLFW_KEY_LEFT);
    REQUIRE(viewer.at().picked.has_value());
    const Cell cell = *viewer.at().picked;
    s.user.press(GLFW_KEY_ENTER), s.user.press(GLFW_KEY_ENTER, GLFW_MOD_SHIFT);
    CHECK(viewer.state().pins == std::vector<Pin>{{Pin::Kind::query, cell.first}, {Pin::Kind::key, cell.second}});
    keep(s.window.screenshot(), "area map");
    viewer.at().picked.reset();
    tab_to(Area::bar);
    s.user.press(GLFW_KEY_DOWN), s.user.press(GLFW_KEY_UP, GLFW_MOD_SHIFT);
    CHECK(viewer.state().range.max < 1);
    CHECK(viewer.state().range.min > 0);
    s.user.press(GLFW_KEY_ENTER);
    CHECK(viewer.state().range == ValueRange{});
    tab_to(Area::heads);
    s.user.press(GLFW_KEY_RIGHT);
    CHECK(viewer.runs().head() == HeadId{before.layer + 1, before.head + 1});
    tab_to(Area::numbers);
    s.user.press(GLFW_KEY_DOWN);
    CHECK(viewer.state().statistic == HeadStatistic::effective);
    viewer.state().pins.clear();
    tab_to(Area::text);
    s.user.press(GLFW_KEY_LEFT);
    CHECK(viewer.at().picked_token == viewer.runs().rows() - 2);
    s.user.press(GLFW_KEY_UP);
    CHECK(viewer.at().picked_token < viewer.runs().rows() - 2);
    s.user.press(GLFW_KEY_ENTER);
    CHECK(viewer.state().pins == std::vector<Pin>{{Pin::Kind::query, *viewer.at().picked_token}});
    keep(s.window.screenshot(), "area text");
    tab_to(Area::time);
    const std::int64_t all = viewer.runs().rows();
    s.user.press(GLFW_KEY_LEFT);
    CHECK(viewer.state().rows == all - 1);
    s.user.press(GLFW_KEY_ENTER);
    CHECK_FALSE(viewer.state().rows.has_value());
    tab_to(Area::prompt);
    REQUIRE(viewer.at().typing);
    s.user.type("Tom took the");  // instead of all that is selected
    CHECK(viewer.at().prompt == "Tom took the");
    tab_to(Area::temperature);  // leaves the text
    CHECK_FALSE(viewer.at().typing);
    s.user.press(GLFW_KEY_UP, GLFW_MOD_SHIFT);
    CHECK(viewer.at().sampling.temperature == 0.5);
    tab_to(Area::seed);
    s.user.press(GLFW_KEY_DOWN);
    CHECK(viewer.at().sampling.seed == 6);
    tab_to(Area::run);
    keep(s.window.screenshot(), "area run");
    const std::uint64_t run = viewer.runs().a().version.run;
    s.user.press(GLFW_KEY_ENTER);
    s.user.until_ended();
    CHECK(viewer.runs().a().version.run == run + 1);
    CHECK(viewer.state().prompt == "Tom took the");
    s.user.press(GLFW_KEY_TAB, GLFW_MOD_SHIFT);
    CHECK(viewer.at().area == Area::speed);
    s.user.press(GLFW_KEY_ESCAPE);
    CHECK_FALSE(viewer.at().area.has_value());
    s.user.press(GLFW_KEY_L, GLFW_MOD_CONTROL);
    CHECK(viewer.state().theme == Theme::light);
}

TEST_CASE("an image captioner shows where each word looks in the picture, and what the encoder does",
          "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened(oracle + "vit_gpt2");
    const ImageInput& input = config_of(opened.model).image;
    const SafeTensors file(oracle + "vit_gpt2/expected.safetensors");
    LivePrompt prompt;
    prompt.pixels.resize(static_cast<std::size_t>(input.pixels()));
    file.at("pixel_values").data.read(0, std::as_writable_bytes(std::span(prompt.pixels)));
    const Image seen = picture_of(prompt.pixels, input);
    ViewState state;
    state.max_tokens = 6, state.sampling.temperature = 0, state.sampling.ignore_end = true;
    state.head = GENERATE(HeadId{1, 1, AttentionKind::cross}, HeadId{1, 2, AttentionKind::encoder});
    const bool cross = state.head->kind == AttentionKind::cross;
    state.pins = {{Pin::Kind::query, 4}};
    PanelsShown s(opened, state, prompt);
    LiveTokens tokens;
    s.live.read_tokens(tokens);
    REQUIRE(tokens.source_texts.size() == static_cast<std::size_t>(input.places()));
    CHECK(tokens.source_texts[0] == "cls");
    CHECK(tokens.texts.size() < tokens.source_texts.size());
    const std::int64_t rows = s.viewer.runs().rows();
    REQUIRE(rows == (cross ? s.live.version().rows : input.places()));
    const auto n = static_cast<std::size_t>(input.places());
    const std::vector<float> weights = attention_of(s.live, *state.head, rows, input.places());
    CHECK(has_text(texts_of(s.window), "[CLS] token: " + value_text(weights[4 * n], {})));
    const Image image = s.window.screenshot();
    keep(image, cross ? "words on an image" : "the encoder of an image");
    CHECK(worst_of_map(image, s.viewer, weights, false) <= 1);
    const Box picture = image_place(s.viewer.layout().tokens, seen.width, seen.height, 1);
    const float columns = static_cast<float>(input.columns()), high = static_cast<float>(input.rows());
    const auto patch = [&](std::size_t token) {  // a place in it
        const auto at = static_cast<float>(token - 1);
        return std::pair{picture.x + (std::fmod(at, columns) + 0.4f) * picture.wide / columns,
                         picture.y + (std::floor(at / columns) + 0.4f) * picture.high / high};
    };
    for (std::size_t token = 1; token < n; ++token) {
        const auto [x, y] = patch(token);
        const Rgb pixel = image.at(static_cast<int>(x), static_cast<int>(y)),
                  colour =
                      colour_at(ColourMap::magma, position_of(weights[4 * n + token], 1, AttentionScale::square_root));
        CAPTURE(token);
        CHECK(std::abs((pixel.r - pixel.g) - 0.6 * (colour.r - colour.g)) <= 3);
        CHECK(std::abs((pixel.b - pixel.g) - 0.6 * (colour.b - colour.g)) <= 3);
    }
    const auto [x, y] = patch(5);
    s.user.move(static_cast<double>(x), static_cast<double>(y));
    CHECK(s.viewer.at().token.has_value() == !cross);  // in cross-attention patches are keys only
    s.user.click();
    CHECK(s.viewer.state().pins == std::vector<Pin>{{cross ? Pin::Kind::key : Pin::Kind::query, 5}});
}

TEST_CASE("an image model shows its picture, and what a query reads over it", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened(oracle + "vit");
    const ImageInput& input = config_of(opened.model).image;
    const SafeTensors file(oracle + "vit/expected.safetensors");
    LivePrompt prompt;
    prompt.pixels.resize(static_cast<std::size_t>(input.pixels()));
    file.at("pixel_values").data.read(0, std::as_writable_bytes(std::span(prompt.pixels)));
    ViewState state;
    state.head = HeadId{1, 2};
    state.pins = {{Pin::Kind::query, 6}};
    const Image seen = picture_of(prompt.pixels, input);
    PanelsShown s(opened, state, prompt);
    REQUIRE(s.viewer.runs().rows() == input.places());
    LiveTokens tokens;
    s.live.read_tokens(tokens);
    CHECK(tokens.texts[0] == "cls");
    CHECK(at(tokens.texts, 1 + input.columns()) == "r1 c0");
    CHECK(at(s.viewer.runs().labels(), 1 + input.columns()) == "r1 c0");
    REQUIRE(tokens.seen != nullptr);
    CHECK(tokens.seen->rgb == seen.rgb);
    const auto n = static_cast<std::size_t>(input.places());
    const std::vector<float> weights = attention_of(s.live, *state.head, input.places(), input.places());
    const std::vector<std::string> texts = texts_of(s.window);
    CHECK(std::ranges::find(texts, "[CLS]") != texts.end());  // the first token's share of weight
    CHECK(has_text(texts, "mean distance (patches)"));
    CHECK(has_text(texts, "[CLS] token: " + value_text(weights[6 * n], {})));
    const Box& panel = s.viewer.layout().tokens;
    CHECK(unexplained(s.window, {{panel.x, panel.bottom() - 40, panel.wide, 40}, s.viewer.layout().numbers}) ==
          std::vector<std::string>{});
    const Image image = s.window.screenshot();
    keep(image, "image");
    CHECK(worst_of_map(image, s.viewer, weights, false) <= 1);
    double distance = 0;  // the mean of the patches' means, over their weights on patches
    for (std::size_t i = 1; i < n; ++i) {
        double placed = 0, sum = 0;
        for (std::size_t j = 1; j < n; ++j) {
            const auto columns = static_cast<std::size_t>(input.columns());
            const auto place = [&](std::size_t token) {
                return std::pair((token - 1) / columns, (token - 1) % columns);
            };
            const auto [row_i, column_i] = place(i);
            const auto [row_j, column_j] = place(j);
            const auto weight = static_cast<double>(weights[i * n + j]);
            placed += weight;
            sum += weight * std::hypot(static_cast<double>(row_i) - static_cast<double>(row_j),
                                       static_cast<double>(column_i) - static_cast<double>(column_j));
        }
        distance += sum / placed / static_cast<double>(n - 1);
    }
    const auto own = std::ranges::find(s.live.heads(), *state.head) - s.live.heads().begin();
    CHECK(std::abs(at(s.viewer.runs().head_numbers(), own)[HeadStatistic::distance] - distance) < 1e-3);
    // Grey below does not change how far red and green of a patch are apart: six tenths of what they are in the
    // weight's colour.
    const Box picture = image_place(s.viewer.layout().tokens, seen.width, seen.height, 1);
    const auto patch = [&](std::size_t token) {  // a place in it
        const auto at = static_cast<float>(token - 1);
        const float columns = static_cast<float>(input.columns()), rows = static_cast<float>(input.rows());
        return std::pair{picture.x + (std::fmod(at, columns) + 0.4f) * picture.wide / columns,
                         picture.y + (std::floor(at / columns) + 0.4f) * picture.high / rows};
    };
    for (std::size_t token = 1; token < n; ++token) {
        const auto [x, y] = patch(token);
        const Rgb pixel = image.at(static_cast<int>(x), static_cast<int>(y)),
                  colour =
                      colour_at(ColourMap::magma, position_of(weights[6 * n + token], 1, AttentionScale::square_root));
        CAPTURE(token);
        CHECK(std::abs((pixel.r - pixel.g) - 0.6 * (colour.r - colour.g)) <= 3);
        CHECK(std::abs((pixel.b - pixel.g) - 0.6 * (colour.b - colour.g)) <= 3);
    }
    const auto [x, y] = patch(11);
    s.user.move(static_cast<double>(x), static_cast<double>(y));
    CHECK(s.viewer.at().token == 11);
    s.user.click();
    CHECK(s.viewer.state().pins == std::vector<Pin>{{Pin::Kind::query, 11}});
    keep(s.window.screenshot(), "image hovered");
    s.user.hold_shift(), s.user.click();
    CHECK(s.viewer.state().pins == std::vector<Pin>{{Pin::Kind::key, 11}});
    s.user.release_shift(), s.user.click();
    CHECK(s.viewer.state().pins == std::vector<Pin>{{Pin::Kind::query, 11}});
}

TEST_CASE("encoders and encoder-decoders are drawn, each kind of their attention", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    {
        const Opened opened(oracle + "bert");
        ViewState state{.prompt = "the dog chased the birds and the birds chased the dog"};
        PanelsShown s(opened, state, {.text = state.prompt});
        const std::int64_t n = s.viewer.runs().rows();
        REQUIRE(n > 10);
        const Image image = s.window.screenshot();
        keep(image, "encoder");
        CHECK(worst_of_map(image, s.viewer, attention_of(s.live, s.viewer.runs().head(), n, n), false) <= 1);
        s.user.type("a");
        CHECK(s.user.take_note() == "this model has one kind of attention");
    }
    const Opened opened(oracle + "bart");
    ViewState state{.max_tokens = 5};
    state.sampling.ignore_end = true;
    PanelsShown s(opened, state, {.text = {}, .ids = {5, 6, 7, 9, 11, 12, 5, 6}});
    const std::int64_t source = s.viewer.runs().a().version.source_rows, written = s.viewer.runs().a().version.rows;
    REQUIRE(source == 8);
    REQUIRE(written != source);
    for (const AttentionKind kind :
         {AttentionKind::self, AttentionKind::encoder, AttentionKind::cross, AttentionKind::self}) {
        REQUIRE(s.viewer.runs().head().kind == kind);
        const std::int64_t rows = kind == AttentionKind::encoder ? source : written,
                           keys = kind == AttentionKind::self ? written : source;
        CHECK(s.viewer.runs().rows() == rows);
        CHECK(s.viewer.runs().columns() == keys);
        const Image image = s.window.screenshot();
        keep(image, kind == AttentionKind::self ? "decoder" : kind == AttentionKind::encoder ? "its encoder" : "cross");
        CHECK(worst_of_map(image, s.viewer, attention_of(s.live, s.viewer.runs().head(), rows, keys),
                           kind == AttentionKind::self) <= 1);
        s.user.move(static_cast<double>(s.viewer.panes().front().map.x_of(2.5)),
                    static_cast<double>(s.viewer.panes().front().map.y_of(1.5)));
        REQUIRE(s.viewer.runs().reading().has_value());
        CHECK(s.viewer.runs().reading()->head == s.viewer.runs().head());
        s.user.move(2, 2);
        s.user.type("a");
    }
}
