// How evenly a router distributes tokens over experts.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::load_balance {
extern const OpDef load_balance_op;
VANTAGE_OPERANDS(probs_, index_);
}  // namespace ops::load_balance

using ops::load_balance::load_balance_op;

namespace ops::load_balance_backward {
extern const OpDef load_balance_backward_op;
VANTAGE_OPERANDS(index_, dloss_);
}  // namespace ops::load_balance_backward

using ops::load_balance_backward::load_balance_backward_op;

}  // namespace vantage::internal
