// How evenly a router distributes tokens over experts.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

extern const OpDef load_balance_op;

namespace ops::load_balance {
VANTAGE_OPERANDS(probs_, index_);
}

}  // namespace vantage::internal
