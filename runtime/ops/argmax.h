// The index of the largest element of each row.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

extern const OpDef argmax_op;

namespace ops::argmax {
VANTAGE_OPERANDS(x_);
}

}  // namespace vantage::internal
