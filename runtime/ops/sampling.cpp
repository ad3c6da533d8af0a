#include "runtime/ops/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace vantage::internal {

namespace {

constexpr double one = 0x1p31;
constexpr double lowest = -std::numeric_limits<double>::infinity();

// The upper 64 of the 96 bits of a * fraction: a * fraction / 2^32, rounded down.
std::uint64_t part(std::uint64_t a, std::uint32_t fraction) {
    return (a >> 32) * fraction + ((a & 0xffffffffu) * fraction >> 32);
}

// The value of the last token that `holds` takes, counted from the largest down.
double last_value(std::span<const double> x, const std::vector<std::size_t>& order,
                  std::span<const std::uint64_t> amounts, std::uint64_t holds) {
    for (std::size_t place : order) {
        if (amounts[place] >= holds) return x[place];
        holds -= amounts[place];
    }
    return lowest;
}

void drop_below(std::span<const double> x, double bound, std::vector<std::uint64_t>& weights) {
    for (std::size_t i = 0; i < x.size(); ++i)
        if (x[i] < bound) weights[i] = 0;
}

}  // namespace

std::vector<std::uint64_t> sampling_weights(std::span<const double> logits, SamplingRule rule) {
    std::vector<double> x(logits.begin(), logits.end());
    for (double& value : x)
        if (std::isnan(value)) value = lowest;
    std::vector<std::uint64_t> weights(x.size());
    std::vector<std::size_t> order(x.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return x[a] > x[b]; });
    if (x.empty() || x[order[0]] == lowest) return weights;
    const double top = x[order[0]];
    if (!(rule.temperature > 0)) {
        weights[order[0]] = static_cast<std::uint64_t>(one);
        return weights;
    }
    for (std::size_t i = 0; i < x.size(); ++i)
        weights[i] = static_cast<std::uint64_t>(x[i] == top      ? one
                                                : x[i] == lowest ? 0
                                                                 : one * std::exp((x[i] - top) / rule.temperature));
    if (rule.top_k > 0 && rule.top_k < x.size()) drop_below(x, x[order[rule.top_k - 1]], weights);
    if (rule.top_p < 1) {
        const std::uint64_t total = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
        const auto fraction = static_cast<std::uint32_t>(std::max(rule.top_p, 0.0f) * 0x1p32f);
        drop_below(x, last_value(x, order, weights, std::max<std::uint64_t>(part(total, fraction), 1)), weights);
    }
    for (std::uint64_t& weight : weights)
        if (static_cast<double>(weight) < rule.min_p * one) weight = 0;
    return weights;
}

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
    for (int i = 0; i < 10; ++i) {
        const std::uint64_t a = 0xD2511F53ull * counter[0], b = 0xCD9E8D57ull * counter[2];
        counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
                   static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
        key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
    }
    return counter;
}

std::uint32_t sampling_random(std::uint32_t seed_low, std::uint32_t seed_high, std::uint32_t place) {
    return philox({place, 0, 0, 0}, {seed_low, seed_high})[0];
}

std::size_t sampling_draw(std::span<const std::uint64_t> weights, std::uint32_t random) {
    std::uint64_t target = part(std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}), random);
    for (std::size_t i = 0; i < weights.size(); ++i) {
        if (target < weights[i]) return i;
        target -= weights[i];
    }
    return 0;
}

}  // namespace vantage::internal
