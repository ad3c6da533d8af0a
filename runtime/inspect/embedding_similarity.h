// Semantic heads: whether a head attends to tokens whose embeddings are similar to the query's.
//
// The similarity is the correlation, within rows, of the weights with the cosines of the tokens' embeddings:
//   r = Σ (A_ij − Ā_i) (c_ij − c̄_i) / √(Σ (A_ij − Ā_i)² Σ (c_ij − c̄_i)²),   c_ij = e_i·e_j / (‖e_i‖ ‖e_j‖)
// over the queries i of the statistics and the visible keys j of another token than the query; Ā_i and c̄_i are means
// over these keys. Copies of the query's token do not count, because `self` and `duplicate-token` measure them.
#pragma once

#include <span>
#include <vector>

#include "runtime/inspect/token_kinds.h"

namespace vantage::internal {

/// Cosines [n, n] of the rows of `embeddings` [n, width]; 0 for a row of zeros.
std::vector<float> cosines(std::span<const float> embeddings, std::size_t tokens);

/// The correlation of a head's weights [n, n] with cosines [n, n], −1 to 1; NaN if either does not vary. Keys with a
/// weight of 0 before the query and in encoders count as visible. `first_query` as in HeadStatistics.
double embedding_similarity(std::span<const float> weights, std::span<const float> cosines, const HeadTexts& texts,
                            int first_query);

}  // namespace vantage::internal
