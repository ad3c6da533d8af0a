// Softmax and its logarithm over an axis.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

extern const OpDef softmax_op, log_softmax_op;

namespace ops::softmax {
VANTAGE_OPERANDS(x_);
}

}  // namespace vantage::internal
