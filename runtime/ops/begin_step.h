// Moves the steps of all sequences on to their next rows.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::begin_step {
extern const OpDef begin_step_op;
VANTAGE_OPERANDS(step_);
}  // namespace ops::begin_step

using ops::begin_step::begin_step_op;

}  // namespace vantage::internal
