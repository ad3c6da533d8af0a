// Where the panels are, in windows of every size.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "viewer/panels/layout.h"

using namespace vantage::view;

namespace {

std::vector<Box> panels_of(const Layout& l) {
    std::vector<Box> boxes;
    for (const Box& box : {l.bar, l.heads, l.numbers, l.focus, l.inspector, l.tokens, l.timeline, l.prompt})
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
                }
}
