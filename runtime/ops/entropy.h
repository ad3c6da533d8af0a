// Entropy of each row of probabilities.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

extern const OpDef entropy_op;

namespace ops::entropy {
VANTAGE_OPERANDS(p_);
}

}  // namespace vantage::internal
