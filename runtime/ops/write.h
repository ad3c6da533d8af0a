// Writes the rows of a run into a state.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::write {
extern const OpDef write_op;
VANTAGE_OPERANDS(state_, rows_, step_);
}  // namespace ops::write

using ops::write::write_op;

}  // namespace vantage::internal
