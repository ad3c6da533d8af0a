// Attention weights by the distance of key and query, and their gradients.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::distance_weights {
extern const OpDef distance_weights_op;
VANTAGE_OPERANDS(q_, k_, lse_, mask_, position_bias_, block_mask_, segments_);
}  // namespace ops::distance_weights

namespace ops::distance_weights_backward {
extern const OpDef distance_weights_backward_op;
VANTAGE_OPERANDS(dw_, q_, k_, lse_, mask_, position_bias_, block_mask_, segments_);
}  // namespace ops::distance_weights_backward

/// The largest distance that has a weight of its own; throws usage where it is below 0 or above 2^24.
std::int64_t reach_of(const OpCall& call);

using ops::distance_weights::distance_weights_op, ops::distance_weights_backward::distance_weights_backward_op;

}  // namespace vantage::internal
