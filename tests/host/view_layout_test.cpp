// Where the panels are, in windows of every size.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <vector>

#include "viewer/data/value_range.h"
#include "viewer/panels/explanations.h"
#include "viewer/panels/layout.h"
#include "viewer/panels/map_view.h"

using namespace vantage::view;

namespace {

std::vector<Box> panels_of(const Layout& l) {
    std::vector<Box> boxes;
    for (const Box& box : {l.bar, l.message, l.heads, l.numbers, l.focus, l.inspector, l.tokens, l.timeline, l.prompt})
        if (box.wide > 0) boxes.push_back(box);
    return boxes;
}

bool apart(const Box& a, const Box& b) {
    return a.right() <= b.x || b.right() <= a.x || a.bottom() <= b.y || b.bottom() <= a.y;
}

void check_panels(const Layout& l, float width, float height, float scale) {
    const std::vector<Box> boxes = panels_of(l);
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        CHECK(boxes[i].x >= 0);
        CHECK(boxes[i].y >= 0);
        CHECK(boxes[i].high > 0);
        CHECK(boxes[i].right() <= width);
        CHECK(boxes[i].bottom() <= height);
        for (std::size_t j = 0; j < i; ++j) CHECK(apart(boxes[i], boxes[j]));
    }
    CHECK(l.focus.wide >= 250 * scale);
    CHECK(l.focus.high >= 70 * scale);
}

}  // namespace

TEST_CASE("panels do not overlap, and what has no room gives way in an order", "[view]") {
    for (const float scale : {0.8f, 1.0f, 1.1f, 2.0f, 4.0f})
        for (float width = 290; width < 2000; width += 37)
            for (float height = 170; height < 1300; height += 29)
                for (const bool image : {false, true})
                    for (const bool two_texts : {false, true})
                        for (const bool prompt : {false, true}) {
                            CAPTURE(scale, width, height, image, two_texts, prompt);
                            const float wide = width * scale, high = height * scale;
                            const LayoutWishes wishes{{12, 12}, image, two_texts, prompt};
                            const Layout l = lay_out(wide, high, scale, wishes);
                            REQUIRE(l.too_small == (width < min_width || height < min_height));
                            if (l.too_small) continue;
                            check_panels(l, wide, high, scale);
                            if (prompt) CHECK(l.prompt.wide > 0);
                            if (l.inspector.wide > 0) CHECK(l.heads.wide > 0);
                            LayoutWishes told = wishes;
                            told.message = 31 * scale;
                            check_panels(lay_out(wide, high, scale, told), wide, high, scale);
                            if (image || prompt) continue;
                            CHECK(l.focus.high >= std::min(180.0f, height - 60) * scale - 8);
                            if (l.prompt.wide > 0) CHECK(l.timeline.wide > 0);
                            if (l.timeline.wide > 0) CHECK(l.tokens.wide > 0);
                        }
}

TEST_CASE("a map, its labels and its colour bar have room in a panel", "[view]") {
    for (const float scale : {1.0f, 2.0f})
        for (const float width : {250.0f, 300.0f, 500.0f, 1200.0f})
            for (const float height : {80.0f, 200.0f, 700.0f})
                for (const double columns : {8.0, 36.0, 400.0}) {
                    CAPTURE(scale, width, height, columns);
                    const Box panel{20, 44, width * scale, height * scale};
                    const FocusPlaces p = focus_places(panel, {0, 12, 0, columns}, 300, 300, scale);
                    CHECK(p.map.wide > 0);
                    CHECK(p.map.high > 0);
                    CHECK(p.row_labels.x >= panel.x);
                    CHECK(p.row_labels.right() <= p.map.x);
                    CHECK(p.key_labels.y >= panel.y);
                    CHECK(p.key_labels.bottom() <= p.map.y);
                    CHECK(p.map.bottom() <= panel.bottom());
                    if (p.bar.wide > 0) CHECK(p.bar.x >= p.map.right());
                    CHECK(std::max(p.bar.right(), p.map.right()) <= panel.right());
                    if (p.key_title.wide <= 0) continue;
                    CHECK(p.key_title.y >= panel.y);
                    CHECK(p.key_title.bottom() <= p.key_labels.y);
                    CHECK(p.row_title.x >= panel.x);
                    CHECK(p.row_title.right() <= p.row_labels.x);
                }
}

TEST_CASE("in a low window the map has most of the height, and other panels stay", "[view]") {
    struct Window {
        float width, height, scale, map;
    };
    for (const auto& [width, height, scale, map] :
         {Window{800, 500, 1, 210}, {640, 480, 1, 195}, {1600, 1000, 2, 420}, {1600, 1000, 1.9f, 420}}) {
        CAPTURE(width, height, scale);
        const Layout l = lay_out(width, height, scale, {{4, 8}});
        for (const Box& box : {l.heads, l.focus, l.tokens, l.timeline, l.prompt}) CHECK(box.wide > 0);
        CHECK(focus_places(l.focus, {0, 37, 0, 37}, 50 * scale, 50 * scale, scale).map.high >= map);
        CHECK(lay_head_cells(l.heads, {4, 8}, scale).side() >= 16 * scale);
    }
    const Layout large = lay_out(1280, 800, 1, {{4, 8}}), small = lay_out(800, 500, 1, {{4, 8}});
    CHECK(missing_panels(large, small) == "Cell, Statistics");
    CHECK(missing_panels(small, large).empty());
}

TEST_CASE("a text has the lines that it needs, and the map the rest", "[view]") {
    LayoutWishes wishes{.heads = {4, 8}, .text_lines = 1};
    const Layout one = lay_out(1600, 1000, 1, wishes);
    CHECK(one.tokens.high == text_above + text_line + text_below);
    wishes.text_lines = 3;
    const Layout three = lay_out(1600, 1000, 1, wishes);
    CHECK(three.tokens.high == one.tokens.high + 2 * text_line);
    CHECK(one.focus.high == three.focus.high + 2 * text_line);
    wishes.text_lines = 1000;
    CHECK(lay_out(1600, 1000, 1, wishes).focus.high >= 0.6f * 1000);
}

TEST_CASE("an image has what its map can spare of the width", "[view]") {
    const LayoutWishes wishes{.heads = {4, 8}, .image = true};
    const Layout large = lay_out(1600, 1000, 1, wishes), narrow = lay_out(1100, 800, 1, wishes);
    CHECK(large.tokens.wide >= 0.28f * 1600);
    CHECK(large.tokens.high >= large.tokens.wide);  // so that the width is used
    CHECK(large.focus.wide >= large.tokens.wide);
    CHECK(narrow.tokens.wide >= 0.28f * 1100);
    CHECK(lay_out(4000, 1500, 1, wishes).tokens.wide == 480);
    for (const auto& [width, height] : {std::pair{640.0f, 480.0f}, {800.0f, 500.0f}}) {  // below the heads
        CAPTURE(width, height);
        const Layout low = lay_out(width, height, 1, {.heads = {2, 4}, .image = true});
        CHECK(low.tokens.wide == low.heads.wide);
        CHECK(image_place(low.tokens, 32, 32, 1).high >= 80);
        CHECK(focus_places(low.focus, {0, 17, 0, 17}, 40, 40, 1).map.high >= 200);
    }
}

TEST_CASE("cells of many heads are whole pixels, and larger in a large panel", "[view]") {
    const HeadGrid grid{32, 32};
    const LayoutWishes wishes{.heads = grid, .large_heads = true};
    for (const float scale : {1.0f, 1.1f, 2.0f}) {
        const Layout l = lay_out(1600 * scale, 1000 * scale, scale, {grid}),
                     large = lay_out(1600 * scale, 1000 * scale, scale, wishes);
        const HeadCells cells = lay_head_cells(l.heads, grid, scale), more = lay_head_cells(large.heads, grid, scale);
        CHECK(cells.step == std::floor(cells.step));
        CHECK(cells.gap == 0);  // at 10 pixels and less lines between cells would be all that is seen
        CHECK(cells.at(31, 31).bottom() <= l.heads.bottom());
        CHECK(cells.at(31, 31).right() <= l.heads.right());
        CHECK(more.side() >= min_thumbnail * scale);
        CHECK(more.at(31, 31).bottom() <= large.heads.bottom());
        check_panels(large, 1600 * scale, 1000 * scale, scale);
    }
}

TEST_CASE("panels have the sizes that are set, as far as they leave the map its space", "[view]") {
    LayoutWishes wishes{.heads = {4, 8}};
    const Layout automatic = lay_out(1600, 1000, 1, wishes);
    wishes.sizes = {400, 350, 300};
    for (const float scale : {1.0f, 1.5f}) {
        const Layout set = lay_out(1600 * scale, 1000 * scale, scale, wishes);
        CHECK(set.heads.wide == 400 * scale);
        CHECK(set.numbers.wide == 400 * scale);
        CHECK(set.inspector.wide == 350 * scale);
        CHECK(set.tokens.high == 300 * scale);
        check_panels(set, 1600 * scale, 1000 * scale, scale);
    }
    // ---- the boundaries say the sizes, and are between the panels
    std::vector<Splitter> found = splitters(automatic);
    REQUIRE(found.size() == 3);
    CHECK(found[0].now == automatic.heads.wide);
    CHECK(found[0].box == Box{automatic.heads.right(), automatic.focus.y, 8, automatic.focus.high});
    CHECK(found[1].now == automatic.inspector.wide);
    CHECK(found[1].box.right() == automatic.inspector.x);
    CHECK(found[2].now == automatic.tokens.high);
    CHECK(found[2].box.bottom() == automatic.tokens.y);
    CHECK(splitters(lay_out(800, 500, 1, {{4, 8}})).size() == 1);  // no cell, and the text is below the heads
    // ---- any sizes in any window
    for (const std::int64_t size : {1, 200, 500, 100000})
        for (float width = 300; width < 2000; width += 97)
            for (float height = 180; height < 1300; height += 79)
                for (const bool image : {false, true})
                    for (const bool large : {false, true}) {
                        CAPTURE(size, width, height, image, large);
                        wishes = {.heads = {12, 12}, .image = image, .large_heads = large, .sizes = {size, size, size}};
                        const Layout l = lay_out(width, height, 1, wishes);
                        check_panels(l, width, height, 1);
                        LayoutWishes without = wishes;
                        without.sizes = {};
                        if (large) continue;  // enlarged heads may take the place of Cell
                        // A size removes no panel, but a high text Statistics.
                        const std::string missing = missing_panels(lay_out(width, height, 1, without), l);
                        CHECK((missing.empty() || missing == "Statistics"));
                    }
}

TEST_CASE("a map of few columns is no sliver", "[view]") {
    const Box narrow = fitted({0, 200, 0, 17}, {0, 0, 700, 500}), low = fitted({0, 17, 0, 200}, {0, 0, 700, 500});
    CHECK(narrow.wide >= 0.45f * narrow.high);
    CHECK(low.high >= 0.45f * low.wide);
    const Box square = fitted({0, 37, 0, 37}, {0, 0, 700, 500});
    CHECK(square.wide == square.high);
}

TEST_CASE("every statistic of a head says what it is", "[view]") {
    for (int i = 0; i < head_statistic_count; ++i) {
        const auto statistic = static_cast<HeadStatistic>(i);
        INFO(name_of(statistic));
        CHECK_FALSE(explanation_of(name_of(statistic)).empty());
        CHECK(std::string(meaning_of_large(statistic)).size() > 5);
    }
    CHECK(explanation_of("no number").empty());
}
