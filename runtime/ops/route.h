// The router of a mixture of experts.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::route {
extern const OpDef route_op;
VANTAGE_OPERANDS(logits_, step_);
enum : int { probs_, index_, weight_ };  // results
}  // namespace ops::route

using ops::route::route_op;

}  // namespace vantage::internal
