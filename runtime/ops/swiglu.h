// Gated linear units.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::swiglu {
extern const OpDef swiglu_op;
VANTAGE_OPERANDS(gate_, up_);
}  // namespace ops::swiglu

using ops::swiglu::swiglu_op;

namespace ops::swiglu_backward {
extern const OpDef swiglu_backward_op;
VANTAGE_OPERANDS(gate_, up_, dy_);
}  // namespace ops::swiglu_backward

using ops::swiglu_backward::swiglu_backward_op;

}  // namespace vantage::internal
