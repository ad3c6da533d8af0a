// Where the panels are.
#pragma once

#include "viewer/data/view_state.h"
#include "viewer/panels/box.h"

namespace vantage::view {

struct Layout {
    Box bar, heads, numbers, focus, inspector, tokens, timeline, prompt;
};

/// The heads as a grid.
struct HeadGrid {
    std::int64_t rows = 1, columns = 1;
};
/// Of a window of so many pixels; `scale` is the size of everything. A small window has no inspector, a tiny one no head map either.
/// For a model that looks at an image that takes the place of the text, above the inspector where there is one, and there is no time.
Layout lay_out(float width, float height, float scale, const HeadGrid& grid, bool image = false);

/// A picture of a shape as large as fits into its panel, between the heading and a line for the class's token.
Box image_place(const Box& panel, int wide, int high, float scale);

/// The map of the focused head within its panel, and what is around it.
struct FocusPlaces {
    Box map, row_labels, key_labels, bar;
};
/// What the colour bar takes beside a map, with what is between them.
float focus_bar_width(float scale);
/// Label widths are those of the longest, in pixels.
FocusPlaces focus_places(const Box& panel, const Rectangle& part, float row_label, float key_label, float scale);

}  // namespace vantage::view
