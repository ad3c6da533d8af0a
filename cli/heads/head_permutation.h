// The permutation test: does the prediction change when a head attends to other tokens with the same weights?
// Jain & Wallace, "Attention is not Explanation" (2019), section 4.2.1.
//
// The weights of the row that the prediction is made from (a decoder's last token, a classifier's first) are shuffled
// among the keys with a weight above 0. The head's output at this position, Σ_j A_j v_j, becomes Σ_j A_π(j) v_j; the
// difference is added to it (Session::shift_head), and everything after it runs again. Everything else stays.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/shared/model_input.h"
#include "vantage/session.h"

namespace vantage::cli {

struct Permutation {
    HeadId place;
    double largest = 0;  ///< the largest weight of the row
    double change = 0;   ///< median of the total variation distances ½ Σ |p − p'| of the output, 0 to 1
};

/// All heads but those of the encoder of an encoder–decoder, ordered by kind, layer, head, with `count` permutations
/// each. The random numbers depend on the seed, layer and head. Throws usage like require_loss for a model that
/// predicts neither a token nor one label.
std::vector<Permutation> permute_heads(const Model& model, const ModelInput& input, const SessionOptions& options,
                                       std::int64_t count, std::uint64_t seed);

}  // namespace vantage::cli
