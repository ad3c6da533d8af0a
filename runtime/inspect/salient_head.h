// Which head is worth a look: a rule on numbers, which knows no model and no head by name.
//
// A head tells something when what it reads depends on what the text says. So keys that a head can find by their place
// alone do not count: the first token (where heads rest that have nothing to read), the one before the query, and the query
// itself. What is left can tell in two ways:
//
//   It copies: a token that was there before reads what came next then. Its score is the induction mass m over the r
//   queries that repeat a token, less where few do:  m · r / (r + 1).
//
//   One link stands out: a word reads another word. A link from query i to key j counts by how much i reads j more than
//   other queries do,  s_ij = A_ij − mean of A_i'j over the other queries i' > j + 1;  a key that everyone reads tells
//   nothing about i. With s₁ ≥ s₂ ≥ s₃ ≥ s₄ for the four most specific links of the head, one per query, the score is
//   s₁ · (s₁ / (s₁ + s₂ + s₃ + s₄))²:  a head that is quiet but for one link is easier to understand than one that has
//   many, and one that reads always two or three back has many.
//
// The larger of the two is the head's score. Uniform heads score nothing either way: their weights are small, and alike.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/inspect/head_statistics.h"

namespace vantage {

struct SalientHead {
    enum Reason : std::uint8_t { copies, stands_out };
    int layer = -1, head = -1;
    double score = 0;  ///< 0 to 1
    Reason reason = stands_out;
    Read read;  ///< the link to look at
};

/// The `count` most telling of all heads, which come layer by layer, the best first; fewer where fewer have a score (in texts
/// of three tokens there are no far keys).
std::vector<SalientHead> salient_heads(std::span<const HeadStatistics> heads, int heads_per_layer, std::size_t count);
std::optional<SalientHead> most_salient_head(std::span<const HeadStatistics> heads, int heads_per_layer);

}  // namespace vantage
