// Entropy of each row of probabilities.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::entropy {
extern const OpDef entropy_op;
VANTAGE_OPERANDS(p_);
}  // namespace ops::entropy

using ops::entropy::entropy_op;

}  // namespace vantage::internal
