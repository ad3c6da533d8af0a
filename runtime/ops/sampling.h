// What `sampling_probs` and `sample` have in common, as a reference: the weights of tokens, the random numbers, the
// draw.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/base/internal.h"

namespace vantage::internal {

/// Floats as kernels get them. temperature 0 = only the largest; top_k 0, top_p 1 and min_p 0 leave all in.
struct SamplingRule {
    float temperature = 1;
    std::uint32_t top_k = 0;
    float top_p = 1, min_p = 0;
};

/// Weight of each token: exp((x - max) / temperature) in units of 2^-31, rounded down, and 0 for tokens that
/// temperature -> top-k -> top-p -> min-p leave out. NaN counts as -inf; all weights are 0 where nothing is larger than
/// -inf. top-k: those at least as large as the k-th largest (Fan et al. 2018). top-p: the fewest most probable, equal
/// values together, that hold top_p of the weight (Holtzman et al. 2019). min-p: those at least min_p times the largest
/// (Nguyen et al. 2024).
std::vector<std::uint64_t> sampling_weights(std::span<const double> logits, SamplingRule rule);

/// Philox4x32-10 (Salmon et al. 2011).
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);
/// The random number for the token at `place` of a sequence.
std::uint32_t sampling_random(std::uint32_t seed_low, std::uint32_t seed_high, std::uint32_t place);

/// The first token in which the sum of weights passes random / 2^32 of the total; 0 where the total is 0.
std::size_t sampling_draw(std::span<const std::uint64_t> weights, std::uint32_t random);

}  // namespace vantage::internal
