// The roofline: operations per second of kernels over their arithmetic intensity, with the roofs of the device.
// Williams, Waterman & Patterson 2009, "Roofline: an insightful visual performance model".
#pragma once

#include <string>
#include <vector>

#include "runtime/bench/report.h"
#include "runtime/bench/roofs.h"
#include "runtime/picture/drawing.h"
#include "runtime/picture/picture_style.h"

namespace vantage::internal {

struct RooflinePoint {
    std::string op, label;
    double intensity = 0;  ///< arithmetic intensity, FLOP/byte
    double gflops = 0;
    bool chosen = false;
};
struct RooflineRoof {
    std::string name;
    double rate = 0;  ///< 10^9 bytes per second if `memory`, else 10^9 operations per second
    bool memory = false;
};
struct Roofline {
    std::string title, caption;
    std::vector<RooflineRoof> roofs;
    std::vector<RooflinePoint> points;
};

/// The kernels of a report of `bench ops`, except those that only move data.
Roofline roofline_of(const Report& report, const Roofs& roofs);

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
