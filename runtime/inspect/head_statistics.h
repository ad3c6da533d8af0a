// Statistics of one head on one input: means over the rows that the device computed (op head_statistics).
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "runtime/inspect/token_kinds.h"

namespace vantage::internal {

/// A link: the weight of a query for a key. −1: none.
struct Read {
    int query = -1, key = -1;
    float weight = 0;
};

/// Means over queries. In a decoder they start at `first_query`, because a query with two or three visible keys looks
/// sharp whatever the head does. Encoders and cross-attention use all queries. Masses are shares of a row's weight, 0
/// to 1. Statistics that are not defined are NaN: positional ones in cross-attention; previous, next, offset and sigma
/// in images; scores of repetitions in a text without repetitions; and the mass on separators if these are unknown.
struct HeadStatistics {
    int tokens = 0, first_query = 0;  ///< queries
    double entropy = 0;               ///< −Σ p ln p, in nats
    double relative_entropy = 0;      ///< entropy / ln(visible keys): 1 is uniform, 0 is a single key
    double effective = 0;             ///< exp(entropy): number of keys of a uniform row with this entropy
    double largest = 0;               ///< the row's largest weight
    /// Σ p |i − j|, in tokens. For an image, in patches: Σ p ‖pos_i − pos_j‖ / Σ p, where i and j are patches.
    double distance = 0;
    /// The Gaussian with the same moments, A_ij ∝ exp(−(j − i − offset)² / 2 sigma²): offset = mean of Σ p (j − i),
    /// sigma² = mean of Σ p (j − i − offset)². These are the parameters of maximum likelihood.
    double offset = 0, sigma = 0;
    /// Correlation of the weights with the similarity of the tokens' embeddings, −1 to 1: embedding_similarity.h. NaN
    /// where it was not measured.
    double similarity = std::nan("");
    double first = 0, previous = 0, self = 0, next = 0;  ///< mass on token 0, i − 1, i, i + 1
    double near = 0;                                     ///< mass within 3 tokens (or patches)
    double separators = 0;                               ///< mass on separators
    double total = 0;                                    ///< mass on all keys: below 1 only with a learned sink
    /// Mass on keys j + 1 (induction) and j (duplicate) for the earlier tokens j equal to the query, where j + 1 is
    /// neither the query nor the token before it. Mean over the `repeats` queries that have such a j; 0 if there are
    /// none. (Olsson et al., "In-context Learning and Induction Heads", 2022.)
    double induction = 0, duplicate = 0;
    int repeats = 0;
    /// The same, but NaN if no query has such a j.
    double induction_mass() const { return repeats > 0 ? induction : std::nan(""); }
    double duplicate_mass() const { return repeats > 0 ? duplicate : std::nan(""); }
    /// TransformerLens's detect_head with error_measure="mul", Σ A ∘ pattern / Σ A over all rows, for its patterns
    /// previous_token_head, duplicate_token_head and induction_head.
    double previous_score = 0, duplicate_score = 0, induction_score = 0;
    Read strongest;            ///< the largest weight
    Read strongest_induction;  ///< the largest weight on a key j + 1
    /// Score of the single most specific link, and that link; see salient_head.h.
    double standing_out = 0;
    Read outstanding;
    std::vector<double> received;  ///< by key: mean weight from the queries that see it
    /// The key with the largest `received`, except the first key and keys that fewer than half of the queries see. −1:
    /// none.
    int argmax_received = -1;
};

/// Descending order with NaN (not defined) last. A strict weak order.
inline bool larger_first(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a > b; }

/// Statistics of all heads of a layer from the results of op head_statistics: rows [queries, heads, ROW_NUMBERS] and
/// keys [KEY_NUMBERS, heads, keys]. Throws usage for other sizes.
std::vector<HeadStatistics> head_statistics(std::span<const float> rows, std::span<const float> keys,
                                            const HeadTexts& texts, int heads);

}  // namespace vantage::internal
