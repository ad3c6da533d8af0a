// What a head does with the text so far, in numbers that grow with it.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "viewer/data/view_state.h"

namespace vantage::view {

inline constexpr double row_sum_tolerance = 2e-3;  ///< how far Σ p of a row may be from 1
/// A row whose weights do not sum to 1.
struct OffRow {
    std::int64_t row = 0;
    float sum = 0;
};

/// Means over the rows that are summed up so far, and over the last ones (an exponential mean of 16 rows). NaN: not defined, or no
/// row yet. As in runtime/inspect/head_statistics.h, first rows that see three keys or fewer left out of causal attention.
struct HeadMeans {
    std::int64_t rows = 0;  ///< summed up
    std::array<double, head_statistic_count> mean{}, recent{};
    double worst_row_sum = 0;  ///< the largest |Σ p − 1| of any row; NaN where a sink takes a part
    double operator[](HeadStatistic s) const { return mean[static_cast<std::size_t>(s)]; }
};

}  // namespace vantage::view
