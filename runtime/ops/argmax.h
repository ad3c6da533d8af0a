// The index of the largest element of each row.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::argmax {
extern const OpDef argmax_op;
VANTAGE_OPERANDS(x_);
}  // namespace ops::argmax

using ops::argmax::argmax_op;

}  // namespace vantage::internal
