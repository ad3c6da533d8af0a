// Attention weights by the distance of key and query.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::distance_weights {
extern const OpDef distance_weights_op;
VANTAGE_OPERANDS(q_, k_, lse_, mask_, position_bias_, block_mask_, segments_);
}  // namespace ops::distance_weights

using ops::distance_weights::distance_weights_op;

}  // namespace vantage::internal
