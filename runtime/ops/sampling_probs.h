// The probabilities that `sample` draws from.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

extern const OpDef sampling_probs_op;

namespace ops::sampling_probs {
VANTAGE_OPERANDS(logits_);
}

}  // namespace vantage::internal
