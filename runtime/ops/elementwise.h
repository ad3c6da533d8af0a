// Sums, products and multiples, element by element.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

extern const OpDef add_op, mul_op, scale_op;

namespace ops::elementwise {  // add and mul
VANTAGE_OPERANDS(a_, b_);
}

namespace ops::scale {
VANTAGE_OPERANDS(x_);
}

}  // namespace vantage::internal
