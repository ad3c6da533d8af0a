// Two tensors, one after the other along the first axis.
#pragma once

#include "vantage/op.h"

namespace vantage {

extern const OpDef concat_op;

namespace ops::concat {
VANTAGE_OPERANDS(a_, b_);
}

}  // namespace vantage
