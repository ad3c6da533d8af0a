// The rule by which two figures differ, for `bench ops` (faster kernels) and `bench compare`.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "runtime/base/internal.h"

namespace vantage::internal {

constexpr std::size_t min_samples_for_spread = 3;  ///< fewer samples say nothing about noise

/// A figure and its deviation: a median and the median absolute deviation, or a mean and the standard deviation.
struct Figure {
    double value = 0, deviation = 0;
};

/// Standard deviations (of normally distributed noise) per unit of deviation.
constexpr double of_median_deviation = 1.4826, of_standard_deviation = 1;

/// Whether they differ by more than 2 % and by more than three standard deviations of their difference. A deviation
/// equals `sigmas` standard deviations.
inline bool differ(const Figure& a, const Figure& b, double sigmas = of_median_deviation) {
    constexpr double min_share = 0.02, deviations = 3;
    const double difference = std::abs(a.value - b.value);
    return difference > min_share * std::min(std::abs(a.value), std::abs(b.value)) &&
           difference > deviations * sigmas * std::hypot(a.deviation, b.deviation);
}

}  // namespace vantage::internal
