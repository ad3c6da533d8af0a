// When two figures differ: the rule of `bench ops`, which flags a choice, and of `bench compare`.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace vantage {

constexpr std::size_t min_samples_for_spread = 3;  ///< samples; fewer say nothing of noise

/// A figure and how far repeats lie from it: a median and the median of the distances from it, or a mean and its samples'
/// standard deviation.
struct Figure {
    double value = 0, deviation = 0;
};

/// Standard deviations of normal noise in a deviation.
constexpr double of_median_deviation = 1.4826, of_standard_deviation = 1;

/// They differ by more than 2 %, and by more than three standard deviations, of which a deviation stands for `sigmas`; the
/// variances of the two add.
inline bool differ(const Figure& a, const Figure& b, double sigmas = of_median_deviation) {
    constexpr double min_share = 0.02, deviations = 3;
    const double difference = std::abs(a.value - b.value);
    return difference > min_share * std::min(std::abs(a.value), std::abs(b.value)) &&
           difference > deviations * sigmas * std::hypot(a.deviation, b.deviation);
}

}  // namespace vantage
