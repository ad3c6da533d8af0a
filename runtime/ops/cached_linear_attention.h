// Attention without a softmax to the keys of a cache.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::cached_linear_attention {
extern const OpDef cached_linear_attention_op;
VANTAGE_OPERANDS(q_, k_, v_, step_, key_log_);
enum : int { o_, lse_ };  // results
}  // namespace ops::cached_linear_attention

using ops::cached_linear_attention::cached_linear_attention_op;

}  // namespace vantage::internal
