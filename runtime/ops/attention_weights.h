// Attention weights of one head, recomputed for a window of rows and keys.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

extern const OpDef attention_weights_op;

namespace ops::attention_weights {
VANTAGE_OPERANDS(q_, k_, lse_, mask_, position_bias_, block_mask_, segments_);
}

}  // namespace vantage::internal
