// The last valid row of each sequence.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::last_row {
extern const OpDef last_row_op;
VANTAGE_OPERANDS(x_, step_);
}  // namespace ops::last_row

using ops::last_row::last_row_op;

}  // namespace vantage::internal
