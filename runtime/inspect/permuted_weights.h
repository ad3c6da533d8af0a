// Attention weights in another order (Jain & Wallace 2019): what a head's output becomes where its weights stand at
// other keys.
#pragma once

#include <cstddef>
#include <random>
#include <span>
#include <vector>

namespace vantage::internal {

/// Σ_j (A_π(j) − A_j) v_j, [width], for a random permutation π of the keys with a weight above 0, all equally likely.
/// `weights` is a row of A, [keys]; `values` is [keys, width].
std::vector<float> permuted_change(std::span<const float> weights, std::span<const double> values, std::size_t width,
                                   std::mt19937_64& random);

}  // namespace vantage::internal
