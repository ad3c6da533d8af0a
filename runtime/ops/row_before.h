// The row of a state before a run's first.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::row_before {
extern const OpDef row_before_op;
VANTAGE_OPERANDS(state_, initial_, step_);
}  // namespace ops::row_before

using ops::row_before::row_before_op;

}  // namespace vantage::internal
