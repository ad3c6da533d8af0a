// Entropy of each row of probabilities.
#pragma once

#include "vantage/op.h"

namespace vantage {

extern const OpDef entropy_op;

namespace ops::entropy {
VANTAGE_OPERANDS(p_);
}

}  // namespace vantage
