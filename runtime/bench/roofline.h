// The roofline: operations per second of kernels over their arithmetic intensity, with the roofs of the device.
// Williams, Waterman & Patterson 2009, "Roofline: an insightful visual performance model".
#pragma once

#include <string>
#include <vector>

#include "runtime/bench/report.h"
#include "runtime/bench/roofs.h"

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

}  // namespace vantage::internal
