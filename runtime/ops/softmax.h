// Softmax and its logarithm over an axis.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::softmax {
extern const OpDef softmax_op, log_softmax_op;
VANTAGE_OPERANDS(x_);
}  // namespace ops::softmax

using ops::softmax::softmax_op, ops::softmax::log_softmax_op;

}  // namespace vantage::internal
