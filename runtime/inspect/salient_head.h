// Salience: how much the attention of a head depends on what the text says. The rule uses numbers only. It knows no
// model and no head by name.
//
// Keys that a head can find by position alone do not count: the first token (where heads rest that have nothing to
// attend to), the previous token, and the query itself. The salience of a head is the larger of two scores, from 0 to
// 1:
//
//   Induction: a token that occurred before attends to what followed it then. The score is m · r / (r + 1), where m is
//   the induction mass and r the number of queries that repeat a token.
//
//   Single link: one word attends to another. A link from query i to key j counts by how much more i attends to j than
//   other queries do,  s_ij = A_ij − mean of A_i'j over the other queries i' > j + 1,  because a key that all queries
//   attend to says nothing about i. With s₁ ≥ s₂ ≥ s₃ ≥ s₄ for the four most specific links of the head, one per query,
//   the score is  s₁ · (s₁ / (s₁ + s₂ + s₃ + s₄))².  A head with one strong link scores higher than a head with many,
//   such as one that always attends two or three tokens back.
//
// Uniform heads score about 0 both ways: their weights are small and alike.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/inspect/head_statistics.h"

namespace vantage::internal {

struct SalientHead {
    enum Reason : std::uint8_t { induction, single_link };
    int layer = -1, head = -1;
    double score = 0;  ///< salience, 0 to 1
    Reason reason = single_link;
    Read read;  ///< the link that decided
};

/// The `count` most salient of `heads` (ordered by layer), the highest score first. Heads with score 0 are left out, so
/// there may be fewer: a text of three tokens has no distant keys. `layers`: the numbers of the layers that they are
/// of; empty: 0, 1, and so on.
std::vector<SalientHead> salient_heads(std::span<const HeadStatistics> heads, int heads_per_layer, std::size_t count,
                                       std::span<const std::int64_t> layers = {});
std::optional<SalientHead> most_salient_head(std::span<const HeadStatistics> heads, int heads_per_layer,
                                             std::span<const std::int64_t> layers = {});

}  // namespace vantage::internal
