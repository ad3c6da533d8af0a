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

namespace ops::route_backward {
extern const OpDef route_backward_op;
VANTAGE_OPERANDS(probs_, index_, weight_, dprobs_, dweight_);
}  // namespace ops::route_backward

using ops::route_backward::route_backward_op;

/// Probabilities f32 [n, experts], and the experts that were chosen by them, i32 [n, top_k].
void check_choices(const OpCall& call, int probs, int index);

}  // namespace vantage::internal
