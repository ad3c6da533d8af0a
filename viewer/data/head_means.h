// Running statistics of a head.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/base/at.h"
#include "viewer/data/view_state.h"

namespace vantage::view {

inline constexpr double row_sum_tolerance = 2e-3;  ///< of |Σ p − 1|
/// A row whose weights do not sum to 1.
struct OffRow {
    std::int64_t row = 0;
    float sum = 0;
};

/// Means over the rows summed so far. NaN: undefined, or no row yet. As in runtime/inspect/head_statistics.h, causal
/// attention skips the first three rows.
struct HeadMeans {
    std::int64_t rows = 0;  ///< summed up
    std::array<double, head_statistic_count> mean{};
    double worst_row_sum = 0;  ///< largest |Σ p − 1| of a row; NaN with a learned sink
    double operator[](HeadStatistic s) const { return at(mean, s); }
};

}  // namespace vantage::view
