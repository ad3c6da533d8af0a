// The router of a mixture of experts.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

extern const OpDef route_op;

namespace ops::route {
VANTAGE_OPERANDS(logits_, step_);
enum : int { probs_, index_, weight_ };  // results
}  // namespace ops::route

}  // namespace vantage::internal
