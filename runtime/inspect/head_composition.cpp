#include "runtime/inspect/head_composition.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace vantage::internal {

namespace {

/// R [r, r], upper triangular, with Rᵀ R = A Aᵀ for A [r, width]. Rows of directions that A does not have are 0.
std::vector<double> gram_root(const std::vector<float>& a, std::size_t width) {
    const std::size_t r = a.size() / width;
    std::vector<double> root(r * r);
    for (std::size_t i = 0; i < r; ++i)
        for (std::size_t j = i; j < r; ++j)
            for (std::size_t c = 0; c < width; ++c)
                root[i * r + j] += static_cast<double>(a[i * width + c]) * static_cast<double>(a[j * width + c]);
    double largest = 0;
    for (std::size_t i = 0; i < r; ++i) largest = std::max(largest, root[i * r + i]);
    for (std::size_t i = 0; i < r; ++i) {
        const double pivot = root[i * r + i];
        const double scale = pivot > 1e-12 * largest ? 1 / std::sqrt(pivot) : 0;  // below it are rounding errors
        for (std::size_t j = i; j < r; ++j) root[i * r + j] *= scale;
        for (std::size_t k = i + 1; k < r; ++k)
            for (std::size_t j = k; j < r; ++j) root[k * r + j] -= root[i * r + k] * root[i * r + j];
    }
    return root;
}

/// R x with Rᵀ R = left leftᵀ, divided by its norm.
std::vector<float> factor(const std::vector<float>& left, const std::vector<float>& x, std::size_t width) {
    const std::vector<double> root = gram_root(left, width);
    const std::size_t r = x.size() / width;
    std::vector<double> product(x.size());
    for (std::size_t i = 0; i < r; ++i)
        for (std::size_t j = i; j < r; ++j)
            for (std::size_t c = 0; c < width; ++c)
                product[i * width + c] += root[i * r + j] * static_cast<double>(x[j * width + c]);
    const double norm = std::sqrt(std::inner_product(product.begin(), product.end(), product.begin(), 0.0));
    std::vector<float> result;
    for (const double value : product) result.push_back(norm > 0 ? static_cast<float>(value / norm) : 0);
    return result;
}

}  // namespace

CompositionFactors composition_factors(const HeadWeights& head) {
    const auto width = static_cast<std::size_t>(head.width);
    return {.q = factor(head.k, head.q, width),
            .k = factor(head.q, head.k, width),
            .v = factor(head.o, head.v, width),
            .out = factor(head.v, head.o, width)};
}

double expected_composition(std::int64_t width) { return 1 / std::sqrt(static_cast<double>(width)); }

}  // namespace vantage::internal
