#include "cli/shared/probabilities.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/base/softmax.h"

namespace vantage::cli {

std::vector<double> probabilities(std::span<const float> logits) { return softmax_of({logits.begin(), logits.end()}); }

std::vector<double> label_values(const ModelConfig& config, std::span<const float> logits) {
    if (config.labelling == Labelling::one_of) return probabilities(logits);
    std::vector<double> values(logits.begin(), logits.end());
    if (config.labelling == Labelling::each)
        for (double& x : values) x = 1 / (1 + std::exp(-x));
    return values;
}

bool is_regression(const ModelConfig& config) {
    return config.head == Head::classification && config.labelling == Labelling::numbers;
}

std::vector<std::size_t> largest(std::span<const double> values, std::size_t count) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    count = std::min(count, order.size());
    std::partial_sort(
        order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
        [&](std::size_t a, std::size_t b) { return values[a] != values[b] ? values[a] > values[b] : a < b; });
    order.resize(count);
    return order;
}

}  // namespace vantage::cli
