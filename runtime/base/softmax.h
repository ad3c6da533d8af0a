// softmax on the host, for few numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace vantage::internal {

/// exp(x_i - max x) / Σ_j exp(x_j - max x). NaN for all where one is NaN. Empty for nothing.
inline std::vector<double> softmax_of(std::vector<double> x) {
    if (x.empty()) return x;
    const double largest = *std::ranges::max_element(x);
    double sum = 0;
    for (double& one : x) sum += one = std::exp(one - largest);
    for (double& one : x) one /= sum;
    return x;
}

}  // namespace vantage::internal
