// Between features and heads: split_heads and merge_heads.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::heads {
extern const OpDef split_heads_op, merge_heads_op;
VANTAGE_OPERANDS(x_);
}  // namespace ops::heads

using ops::heads::split_heads_op, ops::heads::merge_heads_op;

}  // namespace vantage::internal
