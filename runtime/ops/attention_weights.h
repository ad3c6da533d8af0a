// Attention weights of one head, recomputed for a window of rows and keys.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::attention_weights {
extern const OpDef attention_weights_op;
VANTAGE_OPERANDS(q_, k_, lse_, mask_, position_bias_, block_mask_, segments_);
}  // namespace ops::attention_weights

using ops::attention_weights::attention_weights_op;

}  // namespace vantage::internal
