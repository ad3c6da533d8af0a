// Two or three linear layers of the same rows in one launch.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

extern const OpDef joint_linear_op;

namespace ops::joint_linear {
VANTAGE_OPERANDS(x_, w0_, w1_, w2_, bias0_, bias1_, bias2_);
}

}  // namespace vantage::internal
