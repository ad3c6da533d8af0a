// The cell panel says the number that the map shows: with modifiers, pooled, or that there is none.
#include <algorithm>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>

#include "panels_shown.h"
#include "runtime/base/at.h"
#include "runtime/base/format.h"
#include "runtime/gpu/transfer.h"
#include "viewer/panels/shown_value.h"

using namespace view_test;

namespace {

void point_at(PanelsShown& s, double row, double column) {
    const MapView map = s.viewer.panes().front().map;
    s.user.move(static_cast<double>(map.x_of(column + 0.5)), static_cast<double>(map.y_of(row + 0.5)));
}

}  // namespace

TEST_CASE("the cell panel follows the modifiers of the map", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    ViewState state{.max_tokens = 0};
    state.head = HeadId{1, 0};
    PanelsShown s(opened, state, {.text = state.prompt});
    const std::int64_t n = s.viewer.runs().rows(), row = 9, key = 2;
    const std::vector<float> p = attention_of(s.live, *state.head, n, n);
    const auto at = [&](std::int64_t i, std::int64_t j) { return vantage::at(p, i * n + j); };
    point_at(s, 9, 2);
    CHECK(after(texts_of(s.window), "p") == value_text(at(row, key), {}));

    // ---- without the first key: renormalised, and it is not in the list
    s.user.type("x");
    std::vector<std::string> texts = texts_of(s.window);
    const auto near = [](const std::string& text, double value) {
        return std::abs(std::strtod(text.c_str(), nullptr) - value) <= 2e-4 * std::max(1.0, value);
    };
    CHECK(near(after(texts, "shown: p without key 0"), static_cast<double>(at(row, key) / (1 - at(row, 0)))));
    CHECK(after(texts, "p") == value_text(at(row, key), {}));
    const auto top = shown_top(*s.viewer.runs().front().frame, s.viewer.state().modifiers, row);
    REQUIRE_FALSE(top.empty());
    for (const CellReading::Top& one : top) {
        CHECK(one.key != 0);
        CHECK(std::abs(one.weight - at(row, one.key) / (1 - at(row, 0))) < 1e-4f);
    }

    // ---- observed / expected: the mean at this distance, and how many it is the mean of
    s.user.type("xo");
    double sum = 0;
    for (std::int64_t i = row - key; i < n; ++i) sum += static_cast<double>(at(i, i - (row - key)));
    const double expected = sum / static_cast<double>(n - (row - key));
    texts = texts_of(s.window);
    CHECK(near(after(texts, "shown: observed / expected"), static_cast<double>(at(row, key)) / expected));
    CHECK(after(texts, "expected") == format("mean of {} pairs", n - (row - key)));
    point_at(s, static_cast<double>(n - 1), 0);
    CHECK(after(texts_of(s.window), "expected") == "mean of 1 pair: always 1");

    // ---- rows by their maximum, and without modifiers again
    point_at(s, 9, 2);
    s.user.type("on");
    double largest = 0;
    for (std::int64_t j = 0; j <= row; ++j) largest = std::max(largest, static_cast<double>(at(row, j)));
    texts = texts_of(s.window);
    CHECK(near(after(texts, "shown: p / row's maximum"), static_cast<double>(at(row, key)) / largest));
    s.user.type("n");
    texts = texts_of(s.window);
    CHECK(std::ranges::none_of(texts, [](const std::string& text) { return text.starts_with("shown:"); }));

    // ---- times the length of the key's value
    const TapSource::Data& v = s.live.source(1).v;
    REQUIRE(v.type->dtype == DType::f32);
    const std::int64_t wide = v.type->shape[2], of_key = key * v.type->shape[1] * wide;  // of the first head
    std::vector<float> values(static_cast<std::size_t>(of_key + wide));
    gpu::download(opened.device.state(), v.buffer, 0, std::as_writable_bytes(std::span(values)));
    double squares = 0;
    for (std::int64_t i = of_key; i < of_key + wide; ++i) squares += std::pow(vantage::at(values, i), 2);
    const double weighted = static_cast<double>(at(row, key)) * std::sqrt(squares);
    s.user.type("v");
    texts = texts_of(s.window);
    CHECK(std::abs(std::strtod(after(texts, "shown: p·‖v‖").c_str(), nullptr) - weighted) <= 1e-3 * weighted);
    CHECK(after(texts, "p") == value_text(at(row, key), {}));
}

TEST_CASE("the cell panel lists as many keys as it has room for", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    ViewState state{.max_tokens = 0};
    state.head = HeadId{0, 0};
    PanelsShown s(opened, state, {.text = state.prompt}, {}, 1600, 980);
    const std::int64_t n = s.viewer.runs().rows(), row = n - 1;
    const std::vector<float> p = attention_of(s.live, *state.head, n, n);
    std::vector<std::pair<float, std::int64_t>> order;
    for (std::int64_t key = 0; key < n; ++key) order.emplace_back(vantage::at(p, row * n + key), key);
    std::ranges::sort(order, std::greater());
    point_at(s, static_cast<double>(row), 2);
    const std::vector<std::string> texts = texts_in(s.window, s.viewer.layout().inspector);
    keep(s.window.screenshot(), "many keys");
    constexpr std::int64_t room = 14;
    for (std::int64_t i = 0; i < room; ++i) {
        const auto [weight, key] = vantage::at(order, i);
        CAPTURE(i, key, weight);
        CHECK(after(texts, with_position(label_of(s.viewer.runs().labels(), key), key)) ==
              (weight < 5e-4f ? "< 0.001" : format("{:.3f}", weight)));  // never 0.000
    }
    CHECK(vantage::at(order, room - 1).first < 5e-4f);
}

TEST_CASE("a cell that covers several weights is pooled in the cell panel, too", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    std::vector<std::int32_t> ids(250);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(3 + i * i % 61);
    ViewState state{.max_tokens = 0};
    state.head = HeadId{1, 0};
    const bool panel = GENERATE(true, false);                      // without it the heading says the value
    const int wide = panel ? 900 : 640, high = panel ? 360 : 480;  // of small maps
    PanelsShown s(opened, state, {.text = {}, .ids = ids}, {}, wide, high);
    REQUIRE((s.viewer.layout().inspector.wide > 0) == panel);
    const auto& frame = [&]() -> const FrameData& { return *s.viewer.runs().front().frame; };
    static_cast<void>(s.window.screenshot());
    REQUIRE(frame().map.level > 0);
    const std::vector<float> p = attention_of(s.live, *state.head, 250, 250);
    point_at(s, 120, 31);
    const Cell cell = s.viewer.at().cell().value();
    const std::int64_t size = std::int64_t{1} << frame().map.level, row = cell.first / size * size,
                       column = cell.second / size * size;
    for (const CellPooling pooling : {CellPooling::mass, CellPooling::peak}) {
        double sum = 0, largest = 0;
        for (std::int64_t i = row; i < row + size; ++i)
            for (std::int64_t j = column; j < column + size; ++j) {
                sum += static_cast<double>(at(p, i * 250 + j)) / static_cast<double>(size);
                largest = std::max(largest, static_cast<double>(at(p, i * 250 + j)));
            }
        s.viewer.state().pooling = pooling;
        s.viewer.touch(), s.user.settle();
        const auto part = pooled_part(frame(), cell.first, cell.second);
        REQUIRE(part.has_value());
        const auto value = pooled_value(frame(), *part, pooling);
        REQUIRE(value.has_value());
        CHECK(std::abs(static_cast<double>(*value) - (pooling == CellPooling::mass ? sum : largest)) < 1e-5);
        const std::string name = format("{} of {} × {}", name_of(pooling), size, size), number = value_text(*value, {});
        const std::vector<std::string> texts = texts_of(s.window);
        if (panel)
            CHECK(after(texts, "shown: " + name) == number);
        else
            CHECK(has_text(texts, name + " " + number + " · “"));
    }
}

TEST_CASE("a cell of 512 × 512 weights has a value, too", "[view]") {
    FrameData frame;
    frame.map.level = 9;
    const auto part = pooled_part(frame, 1000, 40);
    REQUIRE(part.has_value());
    CHECK(*part == Rectangle{512, 1024, 0, 512});
}

TEST_CASE("a place without a key says so, and shows no other cell", "[view][window][once]") {
    if (!display().there) SKIP("Xvfb is not installed");
    const Opened opened;
    ViewState state{.max_tokens = 0};
    state.head = HeadId{1, 0};
    PanelsShown s(opened, state, {.text = state.prompt});
    point_at(s, 9, 12);
    std::vector<std::string> texts = texts_of(s.window);
    CHECK(has_text(texts, "masked: a later key"));
    CHECK_FALSE(has_text(texts, "rank in row"));
    s.user.type("r");
    point_at(s, 2, 9);  // nine tokens before the third
    texts = texts_of(s.window);
    CHECK(has_text(texts, "no key here"));
    CHECK_FALSE(has_text(texts, "rank in row"));
    point_at(s, 9, 2);
    texts = texts_of(s.window);
    CHECK_FALSE(has_text(texts, "no key here"));
    CHECK(after(texts, "p") == value_text(at(attention_of(s.live, *state.head, 20, 20), 9 * 20 + 7), {}));
    // ---- a key that is pinned there is a token, not a distance
    const MapView map = s.viewer.panes().front().map;
    const Box column{map.x_of(7) - 1, map.y_of(15), 3, static_cast<float>(map.pixels_per_row())};
    const Image plain = s.window.screenshot();
    s.user.hold_shift(), s.user.click(), s.user.release_shift();
    CHECK(s.viewer.state().pins == std::vector<Pin>{{Pin::Kind::key, 7}});
    CHECK(has_colour(s.window.screenshot(), column, IM_COL32(255, 255, 255, 255)) ==
          has_colour(plain, column, IM_COL32(255, 255, 255, 255)));
}
