// Charts: numbers by layer, flow charts, matrices.
#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "runtime/picture/colour_map.h"
#include "runtime/picture/flow_chart.h"
#include "runtime/picture/layer_chart.h"
#include "runtime/picture/matrix_chart.h"
#include "runtime/picture/step_chart.h"
#include "tests/host/expect_error.h"

using namespace vantage;

namespace {

template <class Shape>
std::vector<Shape> shapes_of(const Drawing& drawing) {
    std::vector<Shape> found;
    for (const auto& shape : drawing.shapes)
        if (const auto* one = std::get_if<Shape>(&shape)) found.push_back(*one);
    return found;
}

constexpr Rgb red{250, 1, 2}, blue{3, 4, 250};

LayerChart small_chart() {
    LayerChart chart{.title = "a chart", .caption = "of three layers", .layers = {"0", "1", "2"}, .panels = {}};
    chart.panels.push_back(
        {.title = "lines", .maximum = 2, .dots = {}, .lines = {{"mean", red, {0, 2, std::nan("")}}}, .stacks = {}});
    chart.panels.push_back({.title = "shares",
                            .dots = {},
                            .lines = {},
                            .stacks = {{"first", red, {0.25, 1, 0}}, {"second", blue, {0.75, 0, 1}}}});
    return chart;
}

/// Whether tags are closed in order, attributes quoted and characters escaped.
bool is_well_formed(const std::string& xml) {
    std::vector<std::string> open;
    for (std::size_t i = 0; i < xml.size(); ++i) {
        if (xml[i] == '&') {
            const std::string rest = xml.substr(i, 5);
            if (!rest.starts_with("&lt;") && !rest.starts_with("&gt;") && rest != "&amp;") return false;
        }
        if (xml[i] == '>') return false;
        if (xml[i] != '<') continue;
        const std::size_t end = xml.find('>', i);
        if (end == std::string::npos) return false;
        const std::string tag = xml.substr(i + 1, end - i - 1);
        if (std::ranges::count(tag, '"') % 2 != 0 || tag.find('<') != std::string::npos) return false;
        i = end;
        if (tag.ends_with('/')) continue;
        if (!tag.starts_with('/')) {
            open.push_back(tag.substr(0, tag.find(' ')));
            continue;
        }
        if (open.empty() || open.back() != tag.substr(1)) return false;
        open.pop_back();
    }
    return open.empty();
}

/// Two columns: a framed block with a residual path, and a reader of its result.
FlowChart small_flow() {
    using Kind = FlowBox::Kind;
    FlowSection block{
        .boxes = {{Kind::norm, "Norm", "ln"}, {Kind::linear, "Linear", "a < b & c"}, {Kind::sum, "add", ""}},
        .edges = {{-1, 0, "[n, 8]"}, {0, 1, "[n, 8]"}, {1, 2, "[n, 16]"}, {-1, 2, "[n, 8]"}, {2, -1, "[n, 8]"}},
        .name = "h.0 … 5",
        .times = 6};
    FlowSection first{.boxes = {{Kind::data, "tokens", ""}, {Kind::linear, "Embedding", "w"}},
                      .edges = {{0, 1, "[n]"}, {1, -1, "[n, 8]"}},
                      .name = ""};
    FlowSection reader{.boxes = {{Kind::data, "keys", ""}, {Kind::attention, "Attention", "2 heads × 4"}},
                       .edges = {{0, 1, "[n, 2, 4]"}},
                       .name = ""};
    return {.title = "a model",
            .caption = "of two parts",
            .columns = {{"encoder", {first, block}}, {"decoder", {reader}}},
            .links = {{{0, 1, 2}, {1, 0, 0}}}};
}

}  // namespace

TEST_CASE("a layer chart has a point per layer at its value, and bars that add up", "[picture]") {
    LayerChartLayout layout;
    const Drawing drawing = draw_layer_chart(small_chart(), &layout);
    REQUIRE(layout.plots.size() == 2);
    const Rect& plot = layout.plots[0];
    std::vector<DrawnDisc> points = shapes_of<DrawnDisc>(drawing);
    std::erase_if(points, [](const DrawnDisc& one) { return one.colour != red; });
    REQUIRE(points.size() == 2);  // the third value is not defined
    CHECK(points[0].y == Catch::Approx(plot.bottom()));
    CHECK(points[1].y == Catch::Approx(plot.y));
    CHECK(points[1].x == Catch::Approx(plot.x + plot.width / 2.0));
    int height = 0;  // of both colours together: three bars
    for (const DrawnBox& box : shapes_of<DrawnBox>(drawing))
        if (box.box.width > 11 && (box.colour == red || box.colour == blue)) height += box.box.height;
    CHECK(height == 3 * layout.plots[1].height);
    for (const char* text :
         {"a chart", "of three layers", "lines", "shares", "mean", "first", "second", "0.5", "layer"}) {
        INFO(text);
        CHECK(std::ranges::count(layout.texts, text, &style::PlacedText::text) > 0);
    }
    for (const style::PlacedText& text : layout.texts) {
        INFO(text.text);
        CHECK(Rect{0, 0, drawing.width, drawing.height}.contains(text.box));
    }
}

TEST_CASE("names below many layers do not touch", "[picture]") {
    LayerChart chart{.title = "t", .caption = "", .layers = {}, .panels = {}};
    LayerPanel panel{.title = "p", .dots = {}, .lines = {{"l", red, {}}}, .stacks = {}};
    for (int layer = 0; layer < 126; ++layer)
        chart.layers.push_back(std::to_string(layer)), panel.lines[0].values.push_back(0.5);
    chart.panels.push_back(panel);
    LayerChartLayout layout;
    static_cast<void>(draw_layer_chart(chart, &layout));
    std::vector<Rect> names;
    for (const style::PlacedText& text : layout.texts)
        if (text.box.y > layout.plots[0].bottom() && std::ranges::count(chart.layers, text.text) > 0)
            names.push_back(text.box);
    REQUIRE(names.size() > 5);
    for (std::size_t i = 1; i < names.size(); ++i) CHECK(names[i - 1].right() < names[i].x);
}

TEST_CASE("a layer chart wants one value per layer and an axis", "[picture]") {
    LayerChart chart = small_chart();
    chart.panels[0].lines[0].values.pop_back();
    test::expect_error(ErrorKind::usage, {"lines", "other layers than 3"},
                       [&] { static_cast<void>(draw_layer_chart(chart)); });
    chart = small_chart();
    chart.panels[1].maximum = 0;
    test::expect_error(ErrorKind::usage, {"shares", "axis"}, [&] { static_cast<void>(draw_layer_chart(chart)); });
    CHECK(round_up(3.2) == 5);
    CHECK(round_up(0.02) == Catch::Approx(0.02));
    CHECK(round_up(51) == 100);
    CHECK(round_up(std::nan("")) == 1);
}

TEST_CASE("a flow chart has its boxes apart, each below what it reads, and names all shapes", "[picture]") {
    FlowLayout layout;
    const Drawing drawing = draw_flow_chart(small_flow(), &layout);
    REQUIRE(layout.boxes.size() == 7);
    for (std::size_t i = 0; i < layout.boxes.size(); ++i) {
        CHECK(Rect{0, 0, drawing.width, drawing.height}.contains(layout.boxes[i]));
        for (std::size_t j = 0; j < i; ++j) CHECK(!layout.boxes[i].overlaps(layout.boxes[j]));
    }
    for (int i = 1; i < 5; ++i)
        CHECK(layout.boxes[static_cast<std::size_t>(i)].y >= layout.boxes[static_cast<std::size_t>(i - 1)].bottom());
    CHECK(layout.boxes[5].x > layout.boxes[4].right());  // the second column
    for (const char* text : {"a model", "encoder", "decoder", "h.0 … 5", "× 6", "Norm", "Attention", "[n]", "[n, 8]",
                             "[n, 16]", "[n, 2, 4]"}) {
        INFO(text);
        CHECK(std::ranges::count(layout.texts, text, &style::PlacedText::text) > 0);
    }
    for (const style::PlacedText& text : layout.texts) {
        INFO(text.text);
        CHECK(Rect{0, 0, drawing.width, drawing.height}.contains(text.box));
    }
    const std::string svg = svg_text(drawing);
    CHECK(is_well_formed(svg));
    CHECK(svg.find("a &lt; b &amp; c") != std::string::npos);
    CHECK(!is_well_formed(svg.substr(0, svg.size() - 8)));
    CHECK(lightness(drawing.background) > 90);
}

TEST_CASE("boxes that one box reads stand in the order in which it reads them", "[picture]") {
    using Kind = FlowBox::Kind;
    // made as v, k, q and read as q, k, v
    FlowSection section{.boxes = {{Kind::linear, "v", ""},
                                  {Kind::linear, "k", ""},
                                  {Kind::linear, "q", ""},
                                  {Kind::attention, "A", ""}},
                        .edges = {{-1, 0, "x"}, {-1, 1, "x"}, {-1, 2, "x"}, {2, 3, "s"}, {1, 3, "s"}, {0, 3, "s"}},
                        .name = ""};
    FlowLayout layout;
    static_cast<void>(
        draw_flow_chart({.title = "", .caption = "", .columns = {{"", {section}}}, .links = {}}, &layout));
    CHECK(layout.boxes[2].x < layout.boxes[1].x);
    CHECK(layout.boxes[1].x < layout.boxes[0].x);
    section.edges.push_back({3, 1, "back"});
    test::expect_error(ErrorKind::usage, {"from box 3 to box 1 of 4"}, [&] {
        static_cast<void>(draw_flow_chart({.title = "", .caption = "", .columns = {{"", {section}}}, .links = {}}));
    });
}

TEST_CASE("a chart of matrices colours each cell by its value", "[picture]") {
    MatrixPanel panel{.title = "a matrix",
                      .rows_name = "down",
                      .columns_name = "across",
                      .rows = 2,
                      .columns = 3,
                      .value = [](int row, int column) { return row == 0 ? column - 1.0 : std::nan(""); },
                      .maximum = 1,
                      .row_marks = {{0, "first"}},
                      .column_marks = round_marks(3, 3, -1)};
    MatrixLayout layout;
    const Image image = draw_matrix_chart({.title = "t", .caption = "c", .panels = {panel, panel}}, &layout);
    REQUIRE(layout.maps.size() == 2);
    const Rect& map = layout.maps[0];
    const auto cell = [&](int row, int column) {
        return image.at(map.x + column * map.width / 3 + 3, map.y + row * map.height / 2 + 3);
    };
    CHECK(cell(0, 0) == difference_colour_at(true, -1));
    CHECK(cell(0, 1) == difference_colour_at(true, 0));
    CHECK(cell(0, 2) == difference_colour_at(true, 1));
    CHECK(cell(1, 1) == style::surface);
    for (const char* text : {"a matrix", "down", "across", "first", "-1", "0", "1"})
        CHECK(std::ranges::count(layout.texts, text, &style::PlacedText::text) > 0);
    for (const style::PlacedText& text : layout.texts) {
        INFO(text.text);
        CHECK(Rect{0, 0, image.width, image.height}.contains(text.box));
    }
    CHECK(!layout.maps[0].overlaps(layout.maps[1]));
    panel.maximum = 0;
    test::expect_error(ErrorKind::usage, {"a matrix", "above 0"},
                       [&] { static_cast<void>(draw_matrix_chart({.title = "t", .caption = "", .panels = {panel}})); });
    panel.maximum = 1, panel.columns = 5000;
    test::expect_error(ErrorKind::usage, {"5000 columns"},
                       [&] { static_cast<void>(draw_matrix_chart({.title = "t", .caption = "", .panels = {panel}})); });
}

TEST_CASE("marks of an axis are round numbers", "[picture]") {
    CHECK(round_marks(100, 5).size() == 5);  // 0, 20 … 80
    CHECK(round_marks(100, 5)[1] == std::pair<int, std::string>{20, "20"});
    CHECK(round_marks(5, 3, -2).front() == std::pair<int, std::string>{0, "-2"});
    CHECK(round_marks(1, 8).size() == 1);
}

TEST_CASE("a chart of steps has all its lines inside, whatever the values are", "[picture]") {
    constexpr double huge = 1.7e308, small = 5e-324;
    for (const std::vector<double>& values : std::vector<std::vector<double>>{{2, 2.0000000000000004},
                                                                              {huge, -huge, huge},
                                                                              {huge},
                                                                              {3e38, -3e38},
                                                                              {1e38, 1e38},
                                                                              {small, small},
                                                                              {-5, -5},
                                                                              {0, 0},
                                                                              {std::nan("")}})
        for (const bool logarithmic : {false, true}) {
            CAPTURE(values, logarithmic);
            StepCurve curve{.name = "", .values = values};
            for (std::size_t i = 0; i < values.size(); ++i) curve.steps.push_back(static_cast<double>(i));
            const Drawing drawing = draw_step_chart({.title = "t", .panels = {{"panel", {curve}, logarithmic}}});
            CHECK(drawing.shapes.size() < 300);
            for (const DrawnLine& line : shapes_of<DrawnLine>(drawing))
                for (const auto& [x, y] : {std::pair(line.x0, line.y0), std::pair(line.x1, line.y1)})
                    CHECK((x >= 0 && x < drawing.width && y >= 0 && y < drawing.height));
            for (const DrawnDisc& disc : shapes_of<DrawnDisc>(drawing)) CHECK(disc.y >= 0);
        }
}
