// Writes the rows of a run into a state.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

extern const OpDef write_op;

namespace ops::write {
VANTAGE_OPERANDS(state_, rows_, step_);
}

}  // namespace vantage::internal
