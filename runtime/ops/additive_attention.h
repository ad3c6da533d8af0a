// Scores of additive attention.
#pragma once

#include "vantage/op.h"

namespace vantage {

extern const OpDef additive_scores_op;

namespace ops::additive_scores {
VANTAGE_OPERANDS(q_, k_, w_);
}

}  // namespace vantage
