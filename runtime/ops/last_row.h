// The last valid row of each sequence.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

extern const OpDef last_row_op;

namespace ops::last_row {
VANTAGE_OPERANDS(x_, step_);
}

}  // namespace vantage::internal
