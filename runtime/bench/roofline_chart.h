// Draws a roofline.
#pragma once

#include <string>
#include <vector>

#include "runtime/bench/roofline.h"
#include "runtime/picture/drawing.h"
#include "runtime/picture/picture_style.h"

namespace vantage::internal {

/// Positions in the picture, for tests.
struct RooflineLayout {
    Rect plot;
    double low_x = 0, high_x = 0, low_y = 0, high_y = 0;  ///< powers of ten at the edges of the plot
    std::vector<Rect> markers;                            ///< by point
    std::vector<style::PlacedText> labels;  ///< labels of points; they overlap neither each other nor markers
    double x_of(double intensity) const;
    double y_of(double gflops) const;
};
Drawing draw_roofline(const Roofline& roofline, RooflineLayout* layout = nullptr);
/// Writes PNG or SVG, by the extension.
void write_roofline(const std::string& path, const Roofline& roofline);

}  // namespace vantage::internal
