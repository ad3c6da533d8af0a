// Where the panels are.
#pragma once

#include "viewer/data/view_state.h"
#include "viewer/panels/box.h"

namespace vantage::view {

/// A panel that has no room is empty: its box is of no width.
struct Layout {
    Box bar, heads, numbers, focus, inspector, tokens, timeline, prompt;
    bool too_small = false;  ///< not even the map has room: nothing but a line that says so
};

/// The heads as a grid.
struct HeadGrid {
    std::int64_t rows = 1, columns = 1;
};

/// What has to have room.
struct LayoutWishes {
    HeadGrid heads;
    bool image = false;      ///< instead of the text; then there is no time
    bool two_texts = false;  ///< one that reads the other
    bool prompt = false;     ///< it is being edited: then it has room before all others
};

inline constexpr float min_width = 300, min_height = 180;  ///< of a window, at a scale of 1

/// Of a window of so many pixels; `scale` is the size of everything. What there is no room for gives way to the map: in width the
/// inspector, then the heads; in height the prompt, then the time, then the text. An image is above the inspector where there is one.
Layout lay_out(float width, float height, float scale, const LayoutWishes& wishes);

/// A line of the running text; the room that its first line has below the panel's upper end; and below the last line.
inline constexpr float text_line = 26, text_above = 36, text_below = 8;

/// A picture of a shape as large as fits into its panel, between the heading and a line for the class's token.
Box image_place(const Box& panel, int wide, int high, float scale);

/// The map of the focused head within its panel, and what is around it.
struct FocusPlaces {
    Box map, row_labels, key_labels;
    Box bar;  ///< empty where the panel has no room for it
};
/// What the colour bar takes beside a map, with what is between them: in a panel of this width with a histogram, alone, or nothing.
float focus_bar_width(float panel_wide, float scale);
inline constexpr float bar_histogram = 37;  ///< that it takes of it
/// Label widths are those of the longest, in pixels.
FocusPlaces focus_places(const Box& panel, const Rectangle& part, float row_label, float key_label, float scale);

}  // namespace vantage::view
