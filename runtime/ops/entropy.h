// Entropy of each row of probabilities, and its gradient.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::entropy {
extern const OpDef entropy_op;
VANTAGE_OPERANDS(p_);
}  // namespace ops::entropy

namespace ops::entropy_backward {
extern const OpDef entropy_backward_op;
VANTAGE_OPERANDS(dh_, p_);
}  // namespace ops::entropy_backward

using ops::entropy::entropy_op, ops::entropy_backward::entropy_backward_op;

}  // namespace vantage::internal
