// Gradients of softmax, log_softmax and sparsemax, from their results.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::softmax_backward {
extern const OpDef softmax_backward_op;
VANTAGE_OPERANDS(dy_, y_);
}  // namespace ops::softmax_backward

using ops::softmax_backward::softmax_backward_op;

/// dx of y = softmax(scale x) over an axis; `kind` is softmax, log_softmax or sparsemax.
Tensor softmax_backward(Tensor dy, Tensor y, const char* kind, std::int64_t axis, double scale, SourceLocation where);

}  // namespace vantage::internal
