// Makes tokens that were seen before less likely.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::repetition_penalty {
extern const OpDef repetition_penalty_op;
VANTAGE_OPERANDS(logits_, seen_);
}  // namespace ops::repetition_penalty

using ops::repetition_penalty::repetition_penalty_op;

}  // namespace vantage::internal
