// Softmax and its logarithm over an axis.
#pragma once

#include "vantage/op.h"

namespace vantage {

extern const OpDef softmax_op, log_softmax_op;

namespace ops::softmax {
VANTAGE_OPERANDS(x_);
}

}  // namespace vantage
