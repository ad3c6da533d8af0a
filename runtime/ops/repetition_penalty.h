// Makes tokens that were seen before less likely.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

extern const OpDef repetition_penalty_op;

namespace ops::repetition_penalty {
VANTAGE_OPERANDS(logits_, seen_);
}

}  // namespace vantage::internal
