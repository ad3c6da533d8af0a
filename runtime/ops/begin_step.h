// Moves the steps of all sequences on to their next rows.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

extern const OpDef begin_step_op;

namespace ops::begin_step {
VANTAGE_OPERANDS(step_);
}

}  // namespace vantage::internal
