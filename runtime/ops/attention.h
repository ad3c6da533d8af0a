// Softmax attention in tiles.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::attention {
extern const OpDef attention_op;
VANTAGE_OPERANDS(q_, k_, v_, step_, kv_len_, mask_, position_bias_, block_mask_, segments_, sinks_, dropout_);
enum : int { o_, lse_, entropy_, largest_, key_ = 2 };  // results; of hard attention o, lse and key
}  // namespace ops::attention

using ops::attention::attention_op;

}  // namespace vantage::internal
