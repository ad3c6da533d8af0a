// Gated linear units.
#pragma once

#include "vantage/op.h"

namespace vantage {

extern const OpDef swiglu_op;

namespace ops::swiglu {
VANTAGE_OPERANDS(gate_, up_);
}

}  // namespace vantage
