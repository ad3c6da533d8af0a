// The tokens along the side of a map: as many as can be read, each beside its row or column.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/io/image.h"
#include "runtime/picture/picture_style.h"

namespace vantage::style {

struct AxisLabel {
    int cell = 0;        ///< the row or column that it names
    std::string number;  ///< of the token; only where labels thin out
    std::string text;
};

struct AxisLabels {
    std::vector<AxisLabel> labels;
    TextStyle style = label;                 ///< a little smaller where that saves thinning out
    int number_extent = 0, text_extent = 0;  ///< the longest, in pixels
    int extent() const;                      ///< of numbers, texts and the space between
    bool thinned() const { return number_extent > 0; }
};

/// `tokens` may be empty; a cell of `cell` pixels stands for `factor` of them.
AxisLabels make_axis_labels(std::span<const std::string> tokens, int cells, int factor, int cell);

/// Beside a row: ends at `right`, around the height `middle`.
PlacedText draw_row_label(Image& image, int right, int middle, const AxisLabels& labels, const AxisLabel& entry);
/// Above a column: begins at `bottom` and reads upwards, around the column `middle`.
PlacedText draw_column_label(Image& image, int bottom, int middle, const AxisLabels& labels, const AxisLabel& entry);
/// Above a column, not turned: stands on `bottom`, around the column `middle`.
PlacedText draw_upright_label(Image& image, int bottom, int middle, const AxisLabels& labels, const AxisLabel& entry);

}  // namespace vantage::style
