// Where the panels are.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "viewer/data/view_state.h"

namespace vantage::view {

/// A rectangle in pixels.
struct Box {
    float x = 0, y = 0, wide = 0, high = 0;
    float right() const { return x + wide; }
    float bottom() const { return y + high; }
    bool has(float px, float py) const { return px >= x && py >= y && px < right() && py < bottom(); }
    Box inset(float by) const { return {x + by, y + by, std::max(0.0f, wide - 2 * by), std::max(0.0f, high - 2 * by)}; }
    bool operator==(const Box&) const = default;
};

/// A panel without room has a box of width 0.
struct Layout {
    Box bar, message, heads, numbers, focus, inspector, tokens, timeline, prompt;
    bool too_small = false;  ///< for the map: only a message is shown
    bool operator==(const Layout&) const = default;
};

/// The heads as a grid.
struct HeadGrid {
    std::int64_t rows = 1, columns = 1;
};

/// What the layout depends on besides the size.
struct LayoutWishes {
    HeadGrid heads;
    bool image = false;      ///< in place of the text; then there is no timeline
    bool two_texts = false;  ///< of cross-attention
    bool prompt = false;     ///< being edited: it is placed first
    bool large_heads = false;
    PanelSizes sizes;    ///< within what leaves the map its space
    int text_lines = 4;  ///< that the text needs
    float message = 0;   ///< height of a message below the bar, in pixels; it has no place in a window that is too low
};

/// Width of the message in a window of this width.
float message_width(float width, float scale);
inline constexpr float min_width = 300, min_height = 180;  ///< of a window, at a scale of 1

/// Layout of a window of this many pixels. The map keeps its space. Other panels are removed in this order: in width
/// the inspector, then the heads; in height the prompt, then the timeline, then the text. In a low window the text is
/// below the heads, in place of the statistics, and the timeline is one line. An image is above the inspector.
Layout lay_out(float width, float height, float scale, const LayoutWishes& wishes);

/// The boundary between two panels: a drag moves it and changes the size of one of them.
struct Splitter {
    const char* name;                ///< of the panel that it sizes
    std::int64_t PanelSizes::*size;  ///< of it
    Box box;                         ///< between the panels
    bool upright;                    ///< moves right and left, else down and up
    float now;                       ///< the size in pixels
    float sign;                      ///< of its change where the boundary moves right or down
};
/// Those of a layout; the text has none where its height follows from other panels.
std::vector<Splitter> splitters(const Layout& layout);

/// The panels that one layout has and the other has not: "Statistics, Time"; empty if there are none.
std::string missing_panels(const Layout& before, const Layout& now);

/// Cells of the head grid: whole pixels, without gaps where they are small.
struct HeadCells {
    Box box;
    float step = 0, gap = 0, left = 0;
    std::int64_t rows = 0, columns = 0;
    float side() const { return step - gap; }
    Box at(std::int64_t row, std::int64_t column) const {
        return {left + static_cast<float>(column) * step, box.y + static_cast<float>(row) * step, side(), side()};
    }
};
/// The largest cells of a grid in the panel of the heads.
HeadCells lay_head_cells(const Box& panel, const HeadGrid& grid, float scale);
inline constexpr float min_thumbnail = 15;  ///< pixels, at a scale of 1, from which a thumbnail shows something

/// Height of a line of text; space above the first line in the panel; space below the last.
inline constexpr float text_line = 26, text_above = 36, text_below = 8;

/// The largest box for an image of this shape in its panel, between the heading and the line of [CLS].
Box image_place(const Box& panel, int wide, int high, float scale);

/// The focused head's map in its panel, its labels and its colour bar.
struct FocusPlaces {
    Box map, row_labels, key_labels;
    Box row_title, key_title;  ///< what the axes are; empty if the panel has no room for them
    Box bar;                   ///< empty if the panel has no room for it
    bool bar_lies = false;     ///< below the map
};
/// Width of the colour bar with its margin, in a panel of this width: with a histogram, without one, or 0.
float focus_bar_width(float panel_wide, float scale);
/// Width of row labels, in a panel of this width.
float row_label_width(float panel_wide, float longest, float scale);
inline constexpr float bar_histogram = 37;  ///< width of the histogram in it
/// Label widths are those of the longest label, in pixels.
FocusPlaces focus_places(const Box& panel, const Rectangle& part, float row_label, float key_label, float scale,
                         bool bar_below = false);

}  // namespace vantage::view
