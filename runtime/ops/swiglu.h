// Gated linear units.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::swiglu {
extern const OpDef swiglu_op;
VANTAGE_OPERANDS(gate_, up_);
}  // namespace ops::swiglu

using ops::swiglu::swiglu_op;

}  // namespace vantage::internal
