// Two tensors, one after the other along the first axis.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

extern const OpDef concat_op;

namespace ops::concat {
VANTAGE_OPERANDS(a_, b_);
}

}  // namespace vantage::internal
