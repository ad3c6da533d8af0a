// One panel per head (layers are rows), coloured by pattern, with one bar per token: the attention that it receives.
#pragma once

#include <string>
#include <vector>

#include "runtime/io/image.h"
#include "runtime/picture/picture_style.h"

namespace vantage::internal {

struct HeadPanel {
    std::string pattern;       ///< id of a pattern, such as "previous-token"; decides the colour
    std::string note;          ///< text in the panel, such as "previous-token .93"
    double score = 0;          ///< 0 to 1: brightness of the frame
    std::vector<double> bars;  ///< 0 to 1, one per token
};

struct HeadChartPicture {
    int layers = 0, heads = 0;
    std::vector<std::int64_t> layer_numbers = {};  ///< of the rows; empty: 0, 1 …
    std::vector<HeadPanel> panels;                 ///< ordered by layer
    std::string title, caption;
};

struct HeadChartLayout {
    int width = 0, height = 0;
    std::vector<Rect> panels;
    std::vector<style::PlacedText> texts;
};

/// The colour of a pattern by its id; grey for an unknown id.
Rgb pattern_colour(const std::string& pattern);
/// Throws usage if the number of panels is not layers × heads.
Image draw_head_chart(const HeadChartPicture& picture, HeadChartLayout* layout = nullptr);

}  // namespace vantage::internal
