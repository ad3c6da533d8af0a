// The gradients of attention by queries, keys, values and what is added to scores.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::attention_backward {
extern const OpDef attention_backward_op;
VANTAGE_OPERANDS(dout_, q_, k_, v_, o_, lse_, dlse_, kv_len_, mask_, position_bias_, block_mask_, segments_, sinks_);
}  // namespace ops::attention_backward

using ops::attention_backward::attention_backward_op;

/// The rule of attention (OpDef::gradient).
std::vector<Tensor> attention_gradient(const GradientCall& g);

}  // namespace vantage::internal
