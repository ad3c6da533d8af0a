// Scores of additive attention.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::additive_scores {
extern const OpDef additive_scores_op;
VANTAGE_OPERANDS(q_, k_, w_);
}  // namespace ops::additive_scores

using ops::additive_scores::additive_scores_op;

}  // namespace vantage::internal
