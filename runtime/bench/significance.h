// When two medians differ: the rule of `bench ops`, which flags a choice, and of `bench compare`.
#pragma once

#include <algorithm>
#include <cmath>

namespace vantage {

/// A median and the median of the distances from it.
struct Median {
    double value = 0, deviation = 0;
};

/// They differ by more than 2 %, and by more than three robust deviations: 1.4826 times the median deviation is the standard
/// deviation of normal noise, and the variances of the two add.
inline bool differ(const Median& a, const Median& b) {
    constexpr double least_share = 0.02, deviations = 3, normal = 1.4826;
    const double difference = std::abs(a.value - b.value);
    return difference > least_share * std::min(std::abs(a.value), std::abs(b.value)) &&
           difference > deviations * normal * std::hypot(a.deviation, b.deviation);
}

}  // namespace vantage
