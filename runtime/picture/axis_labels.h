// Token labels along an axis of a map, thinned out so that they are readable.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/io/image.h"
#include "runtime/picture/picture_style.h"

namespace vantage::internal::style {

struct AxisLabel {
    int cell = 0;        ///< row or column
    std::string number;  ///< position of the token; only if labels are thinned out
    std::string text;
};

struct AxisLabels {
    std::vector<AxisLabel> labels;
    TextStyle style = label;                 ///< slightly smaller if that avoids thinning out
    int number_extent = 0, text_extent = 0;  ///< the longest, in pixels
    int extent() const;                      ///< of numbers, texts and the space between them
    bool thinned() const { return number_extent > 0; }
};

/// `tokens` may be empty. A cell of `cell` pixels covers `factor` tokens.
AxisLabels make_axis_labels(std::span<const std::string> tokens, int cells, int factor, int cell);

/// Label of a row: right-aligned at `right`, vertically centred at `middle`.
PlacedText draw_row_label(Image& image, int right, int middle, const AxisLabels& labels, const AxisLabel& entry);
/// Label of a column, rotated: starts at `bottom`, centred at `middle`.
PlacedText draw_column_label(Image& image, int bottom, int middle, const AxisLabels& labels, const AxisLabel& entry);
/// Label of a column, not rotated: its bottom is at `bottom`, centred at `middle`.
PlacedText draw_upright_label(Image& image, int bottom, int middle, const AxisLabels& labels, const AxisLabel& entry);

}  // namespace vantage::internal::style
