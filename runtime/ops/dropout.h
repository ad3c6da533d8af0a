// Dropout by counted random numbers: the same elements in the forward and the backward pass, whatever the kernel.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

/// y = x / (1 - probability), or 0 with this probability, for each element of x [..., width] on its own. The number of
/// an element is Philox4x32-10 of (row, column / 4, site, step · micro_batches + micro-batch), word column mod 4; it is
/// dropped below probability · 2^32. `train` is the state of training (train_step.h); without it step 0 is drawn.
namespace ops::dropout {
extern const OpDef dropout_op;
VANTAGE_OPERANDS(x_, train_);
}  // namespace ops::dropout

using ops::dropout::dropout_op;

}  // namespace vantage::internal
