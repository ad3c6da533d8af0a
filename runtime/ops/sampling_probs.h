// The probabilities that `sample` draws from.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::sampling_probs {
extern const OpDef sampling_probs_op;
VANTAGE_OPERANDS(logits_);
}  // namespace ops::sampling_probs

using ops::sampling_probs::sampling_probs_op;

}  // namespace vantage::internal
