// Scores of additive attention.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::additive_scores {
extern const OpDef additive_scores_op;
VANTAGE_OPERANDS(q_, k_, w_);
}  // namespace ops::additive_scores

namespace ops::additive_scores_backward {
extern const OpDef additive_scores_backward_op;
VANTAGE_OPERANDS(ds_, q_, k_, w_);
}  // namespace ops::additive_scores_backward

using ops::additive_scores::additive_scores_op, ops::additive_scores_backward::additive_scores_backward_op;

}  // namespace vantage::internal
