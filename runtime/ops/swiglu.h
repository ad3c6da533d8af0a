// Gated linear units.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

extern const OpDef swiglu_op;

namespace ops::swiglu {
VANTAGE_OPERANDS(gate_, up_);
}

}  // namespace vantage::internal
