// Two tensors, one after the other along the first axis.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::concat {
extern const OpDef concat_op;
VANTAGE_OPERANDS(a_, b_);
}  // namespace ops::concat

using ops::concat::concat_op;

}  // namespace vantage::internal
