#include "runtime/inspect/permuted_weights.h"

#include <utility>

#include "runtime/base/at.h"

namespace vantage::internal {

std::vector<float> permuted_change(std::span<const float> weights, std::span<const double> values, std::size_t width,
                                   std::mt19937_64& random) {
    std::vector<std::size_t> keys;
    for (std::size_t j = 0; j < weights.size(); ++j)
        if (weights[j] > 0) keys.push_back(j);
    std::vector<std::size_t> from = keys;
    for (std::size_t i = from.size(); i > 1; --i) std::swap(from[i - 1], from[random() % i]);
    std::vector<double> change(width);
    for (std::size_t k = 0; k < keys.size(); ++k)
        for (std::size_t d = 0; d < width; ++d)
            change[d] += (static_cast<double>(weights[from[k]]) - static_cast<double>(weights[keys[k]])) *
                         at(values, keys[k] * width + d);
    return {change.begin(), change.end()};
}

}  // namespace vantage::internal
