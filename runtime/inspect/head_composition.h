// How much a head reads what a head of an earlier layer has written: Q-, K- and V-composition.
// Elhage et al., "A Mathematical Framework for Transformer Circuits" (2021).
//
// With W_QK = W_Qᵀ W_K and W_OV = W_O W_V [width, width] of a head, whose rank is the width of the head, and W_OV¹ of
// the earlier head:
//   Q: ‖W_QKᵀ W_OV¹‖ / (‖W_QK‖ ‖W_OV¹‖)   K: ‖W_QK W_OV¹‖ / (…)   V: ‖W_OV W_OV¹‖ / (‖W_OV‖ ‖W_OV¹‖)
// in Frobenius norms, from 0 to 1. No matrix [width, width] is made: ‖W_Kᵀ X‖ = ‖R X‖ where Rᵀ R = W_K W_Kᵀ (Cholesky),
// so a score is the norm of a product of two factors with as many rows as a head has features.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/base/internal.h"

namespace vantage::internal {

/// The weights of a head, rows [features of the head, width of the model]; `o` is W_Oᵀ.
struct HeadWeights {
    std::int64_t width = 0;
    std::vector<float> q, k, v, o;
};

/// Factors of a head with Frobenius norm 1 (0 for a head of zeros), rows [features, width]: a score is
/// ‖reader writerᵀ‖, where the reader is `q`, `k` or `v` of the later head and the writer `out` of the earlier one.
struct CompositionFactors {
    std::vector<float> q, k, v, out;
};
CompositionFactors composition_factors(const HeadWeights& head);

/// The score of two heads whose directions are independent: the root of the mean of the squared score when one of them
/// is turned at random is exactly 1/√width, whatever the two matrices are.
double expected_composition(std::int64_t width);

}  // namespace vantage::internal
