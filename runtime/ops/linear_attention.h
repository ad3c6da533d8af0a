// Attention without a softmax, linear in the length of the sequence.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::linear_attention {
extern const OpDef linear_attention_op;
VANTAGE_OPERANDS(q_, k_, v_);
enum : int { o_, state_kv_, state_k_, lse_ };  // results
}  // namespace ops::linear_attention

using ops::linear_attention::linear_attention_op;

}  // namespace vantage::internal
