// A linear layer whose matrix is that of the expert of each row.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::expert_linear {
extern const OpDef expert_linear_op;
VANTAGE_OPERANDS(x_, w_, bias_, index_, slots_, order_, offsets_);
}  // namespace ops::expert_linear

using ops::expert_linear::expert_linear_op;

namespace ops::expert_gradient {
extern const OpDef expert_gradient_op;
VANTAGE_OPERANDS(dy_, x_, order_, offsets_);
}  // namespace ops::expert_gradient

using ops::expert_gradient::expert_gradient_op;

}  // namespace vantage::internal
