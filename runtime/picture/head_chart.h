// All heads at one glance by what they do: a panel for each, layers downwards, heads across, coloured by pattern, with a bar
// for every token: the attention that it receives.
#pragma once

#include <string>
#include <vector>

#include "runtime/io/image.h"
#include "runtime/picture/picture_style.h"

namespace vantage {

struct HeadPanel {
    std::string pattern;       ///< "previous"; the same word has the same colour
    std::string note;          ///< "before .93", in the panel
    double score = 0;          ///< 0 to 1: how bright the panel's frame is
    std::vector<double> bars;  ///< 0 to 1, by token
};

struct HeadChartPicture {
    int layers = 0, heads = 0;
    std::vector<HeadPanel> panels;  ///< layer by layer
    std::string title, caption;
};

struct HeadChartLayout {
    int width = 0, height = 0;
    std::vector<Rect> panels;
    std::vector<style::PlacedText> texts;
};

/// The colour of a pattern, the same in every picture.
Rgb pattern_colour(const std::string& pattern);
/// Throws usage when the numbers do not fit together.
Image draw_head_chart(const HeadChartPicture& picture, HeadChartLayout* layout = nullptr);

}  // namespace vantage
