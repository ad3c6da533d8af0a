// Numbers by layer as a chart: panels side by side, layers from left to right.
#pragma once

#include <string>
#include <vector>

#include "runtime/picture/drawing.h"
#include "runtime/picture/picture_style.h"

namespace vantage::internal {

/// One value per layer; NaN: none.
struct LayerSeries {
    std::string name;
    Rgb colour = style::accent;
    std::vector<double> values;
};

struct LayerPanel {
    std::string title;
    double minimum = 0, maximum = 1;        ///< of the vertical axis
    std::vector<std::vector<double>> dots;  ///< by layer: single heads, as discs; may be empty
    std::vector<LayerSeries> lines;
    std::vector<LayerSeries> stacks;  ///< shares of a bar per layer, the first at the bottom
};

struct LayerChart {
    std::string title, caption;
    std::vector<std::string> layers;  ///< names below the axis
    std::vector<LayerPanel> panels;
};

struct LayerChartLayout {
    std::vector<Rect> plots;
    std::vector<style::PlacedText> texts;
};

/// Throws usage if a series does not have one value per layer, or an axis is empty.
Drawing draw_layer_chart(const LayerChart& chart, LayerChartLayout* layout = nullptr);

/// The smallest of 1, 2 and 5 times a power of ten that is at least `value`, for the end of an axis.
double round_up(double value);

}  // namespace vantage::internal
