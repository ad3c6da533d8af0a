// Two or three linear layers of the same rows in one launch.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::joint_linear {
extern const OpDef joint_linear_op;
VANTAGE_OPERANDS(x_, w0_, w1_, w2_, bias0_, bias1_, bias2_);
}  // namespace ops::joint_linear

using ops::joint_linear::joint_linear_op;

}  // namespace vantage::internal
