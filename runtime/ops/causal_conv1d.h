// A causal convolution of each channel, by itself (causal_conv1d) or with inputs that are kept for the runs to come
// (causal_conv1d_cached); and its gradients.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::causal_conv1d {
extern const OpDef causal_conv1d_op, causal_conv1d_cached_op;
VANTAGE_OPERANDS(x_, weight_, bias_, state_);
enum : int { y_, new_state_ };  // results
}  // namespace ops::causal_conv1d

namespace ops::causal_conv1d_cached {
VANTAGE_OPERANDS(x_, weight_, bias_, state_, step_);
}

namespace ops::causal_conv1d_backward {
extern const OpDef causal_conv1d_backward_op;
VANTAGE_OPERANDS(du_, x_, weight_, state_, dlast_);
enum : int { dx_, dweight_, dstate_ };  // results; dstate with a state only
}  // namespace ops::causal_conv1d_backward

using ops::causal_conv1d::causal_conv1d_op, ops::causal_conv1d::causal_conv1d_cached_op,
    ops::causal_conv1d_backward::causal_conv1d_backward_op;

}  // namespace vantage::internal
