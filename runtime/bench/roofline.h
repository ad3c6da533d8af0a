// The roofline: how many operations a second kernels do over how many they do for each byte, below what the device can.
// Williams, Waterman & Patterson 2009, "Roofline: an insightful visual performance model".
#pragma once

#include <string>
#include <vector>

#include "runtime/bench/report.h"
#include "runtime/bench/roofs.h"
#include "runtime/picture/drawing.h"
#include "runtime/picture/picture_style.h"

namespace vantage {

struct RooflinePoint {
    std::string op, label;
    double intensity = 0;  ///< operations for each byte
    double gflops = 0;
    bool chosen = false;
};
struct RooflineRoof {
    std::string name;
    double rate = 0;  ///< 10^9 bytes a second of `memory`, else 10^9 operations
    bool memory = false;
};
struct Roofline {
    std::string title, caption;
    std::vector<RooflineRoof> roofs;
    std::vector<RooflinePoint> points;
};

/// The kernels of a report of `bench ops` that do arithmetic.
Roofline roofline_of(const Report& report, const Roofs& roofs);

/// Where things are, for tests.
struct RooflineLayout {
    Rect plot;
    double low_x = 0, high_x = 0, low_y = 0, high_y = 0;  ///< powers of ten at the plot's edges
    std::vector<Rect> markers;                            ///< by point
    std::vector<style::PlacedText> labels;                ///< of points: none touches another one or a marker
    double x_of(double intensity) const;
    double y_of(double gflops) const;
};
Drawing draw_roofline(const Roofline& roofline, RooflineLayout* layout = nullptr);
/// PNG or SVG by the file's ending.
void write_roofline(const std::string& path, const Roofline& roofline);

}  // namespace vantage
