// Between features and heads: split_heads and merge_heads.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

extern const OpDef split_heads_op, merge_heads_op;

namespace ops::heads {
VANTAGE_OPERANDS(x_);
}

}  // namespace vantage::internal
