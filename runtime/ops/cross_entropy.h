// Cross-entropy of rows of logits with their targets, and its gradient.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::cross_entropy {
extern const OpDef cross_entropy_op;
VANTAGE_OPERANDS(logits_, targets_);
enum : int { loss_, lse_ };  // results
}  // namespace ops::cross_entropy

namespace ops::cross_entropy_backward {
extern const OpDef cross_entropy_backward_op;
VANTAGE_OPERANDS(logits_, targets_, lse_, dloss_);
}  // namespace ops::cross_entropy_backward

using ops::cross_entropy::cross_entropy_op, ops::cross_entropy_backward::cross_entropy_backward_op;

}  // namespace vantage::internal
