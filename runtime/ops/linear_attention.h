// Attention without a softmax, linear in the length of the sequence, and its gradients.
#pragma once

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

using ops::linear_attention::linear_attention_op, ops::linear_attention_backward::linear_attention_backward_op;

}  // namespace vantage::internal
