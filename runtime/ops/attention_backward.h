// The gradients of attention by queries, keys, values and what is added to scores.
#pragma once

#include "runtime/graph/op_def.h"
#include "runtime/ops/attention_rules.h"

namespace vantage::internal {

namespace ops::attention_backward {
extern const OpDef attention_backward_op;
VANTAGE_OPERANDS(dout_, q_, k_, v_, o_, lse_, dlse_, kv_len_, mask_, position_bias_, block_mask_, segments_, sinks_,
                 dropout_);
}  // namespace ops::attention_backward

using ops::attention_backward::attention_backward_op;

/// The rule of attention (OpDef::gradient).
std::vector<Tensor> attention_gradient(const GradientCall& g);

/// A pair of a query and a key, and the gradient of the score between them.
struct ScoreGradient {
    std::int64_t b, h, i, j;
    double ds;
};
/// What a backward op gives for the gradient of a bias by position, with the attribute bias_gradient: sums of the
/// scores' gradients in f32, for each row [batch, n, heads, of_row], and for each key [batch, m, kv_heads, of_key], or
/// with by_key [batch, m, heads].
struct BiasSums {
    std::int64_t of_row = 0, of_key = 0;
    bool by_key = false;
    std::vector<TensorType> types(const RuleSizes& s) const;
    /// The reference: adds a pair. Not of additive scores, whose sums are over features.
    void add(const AttentionRules& rules, const RuleSizes& s, const ScoreGradient& pair,
             std::span<HostTensor> sums) const;
};
BiasSums bias_sums(const OpCall& call, int position_bias, const RuleSizes& sizes);
/// The gradient of the bias from these sums.
Tensor bias_gradient(const AttentionRules& rules, const Tensor& bias, std::span<const Tensor> sums,
                     SourceLocation where);

}  // namespace vantage::internal
