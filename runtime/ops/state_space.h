// A diagonal state space, by itself (state_space) or with states that are kept for the runs to come
// (state_space_cached); and its gradients.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::state_space {
extern const OpDef state_space_op, state_space_cached_op;
VANTAGE_OPERANDS(x_, delta_, a_, b_, c_, d_, state_);
enum : int { y_, new_state_ };  // results
}  // namespace ops::state_space

namespace ops::state_space_cached {
VANTAGE_OPERANDS(x_, delta_, a_, b_, c_, d_, state_, step_);
}

namespace ops::state_space_backward {
extern const OpDef state_space_backward_op;
VANTAGE_OPERANDS(dy_, x_, delta_, a_, b_, c_, d_, state_, dlast_);
enum : int { dx_, ddelta_, da_, db_, dc_, dstate_ };  // results; dstate with a state only
}  // namespace ops::state_space_backward

using ops::state_space::state_space_op, ops::state_space::state_space_cached_op,
    ops::state_space_backward::state_space_backward_op;

}  // namespace vantage::internal
