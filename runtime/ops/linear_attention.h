// Attention without a softmax, linear in the length of the sequence, and its gradients.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::linear_attention {
extern const OpDef linear_attention_op;
VANTAGE_OPERANDS(q_, k_, v_);
enum : int { o_, state_kv_, state_k_, lse_ };  // results
}  // namespace ops::linear_attention

namespace ops::linear_attention_backward {
extern const OpDef linear_attention_backward_op;
VANTAGE_OPERANDS(dout_, q_, k_, v_, o_, lse_, dlse_, dstate_kv_, dstate_k_);
}  // namespace ops::linear_attention_backward

/// Of a call of either, whose q is [(batch,) n, heads, D], or with `heads_first` [(batch,) heads, n, D]. Sums are kept
/// by chunks of the sequence.
struct LinearAttentionSizes {
    static constexpr std::int64_t chunk_tokens = 64;
    std::int64_t batch, n, heads, d, dv;
    bool heads_first, causal;
    std::int64_t all_heads() const { return batch * heads; }
    /// The row of a token, of a head of the batch.
    std::int64_t row(std::int64_t head, std::int64_t i) const {
        return heads_first ? head * n + i : (head / heads * n + i) * heads + head % heads;
    }
    /// One at least: a sequence without tokens has a state, too.
    std::int64_t chunks() const { return std::max<std::int64_t>(1, (n + chunk_tokens - 1) / chunk_tokens); }
    std::int64_t cells() const { return all_heads() * d * (dv + 1); }
};
LinearAttentionSizes linear_attention_sizes(const OpCall& call, int q, int v);
/// Throws usage for features that are too many or too few, and for sums of 2^31 numbers.
void check_linear_attention_sizes(const OpCall& call, int q, int v);

using ops::linear_attention::linear_attention_op, ops::linear_attention_backward::linear_attention_backward_op;

}  // namespace vantage::internal
