// Sums, products and multiples, element by element.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::elementwise {  // add and mul
extern const OpDef add_op, mul_op, scale_op;
VANTAGE_OPERANDS(a_, b_);
}  // namespace ops::elementwise

namespace ops::scale {
VANTAGE_OPERANDS(x_);
}

using ops::elementwise::add_op, ops::elementwise::mul_op, ops::elementwise::scale_op;

}  // namespace vantage::internal
