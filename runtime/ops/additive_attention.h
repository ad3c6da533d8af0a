// Scores of additive attention.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

extern const OpDef additive_scores_op;

namespace ops::additive_scores {
VANTAGE_OPERANDS(q_, k_, w_);
}

}  // namespace vantage::internal
