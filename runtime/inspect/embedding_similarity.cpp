#include "runtime/inspect/embedding_similarity.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace vantage::internal {

std::vector<float> cosines(std::span<const float> embeddings, std::size_t tokens) {
    const std::size_t width = tokens > 0 ? embeddings.size() / tokens : 0;
    const auto dot = [&](std::size_t i, std::size_t j) {
        const auto a = embeddings.subspan(i * width, width), b = embeddings.subspan(j * width, width);
        return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
    };
    std::vector<double> lengths;
    for (std::size_t i = 0; i < tokens; ++i) lengths.push_back(std::sqrt(dot(i, i)));
    std::vector<float> all(tokens * tokens);
    for (std::size_t i = 0; i < tokens; ++i)
        for (std::size_t j = 0; j <= i; ++j)
            if (const double product = lengths[i] * lengths[j]; product > 0)
                all[i * tokens + j] = all[j * tokens + i] = static_cast<float>(dot(i, j) / product);
    return all;
}

double embedding_similarity(std::span<const float> weights, std::span<const float> cosines, const HeadTexts& texts,
                            int first_query) {
    const auto n = static_cast<std::size_t>(texts.keys.size());
    double covariance = 0, of_weights = 0, of_cosines = 0;
    std::vector<std::pair<double, double>> row;
    for (auto i = static_cast<std::size_t>(first_query); i < n; ++i) {
        row.clear();
        double weight_sum = 0, cosine_sum = 0;
        for (std::size_t j = 0; j < (texts.causal ? i : n); ++j) {
            if (texts.keys.ids[i] == texts.keys.ids[j]) continue;
            row.emplace_back(weights[i * n + j], cosines[i * n + j]);
            weight_sum += row.back().first, cosine_sum += row.back().second;
        }
        const auto count = static_cast<double>(row.size());
        for (const auto& [weight, cosine] : row) {
            const double a = weight - weight_sum / count, c = cosine - cosine_sum / count;
            covariance += a * c, of_weights += a * a, of_cosines += c * c;
        }
    }
    const double product = std::sqrt(of_weights) * std::sqrt(of_cosines);
    return product > 0 ? std::clamp(covariance / product, -1.0, 1.0) : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace vantage::internal
