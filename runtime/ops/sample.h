// Draws the next token of each sequence.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::sample {
extern const OpDef sample_op;
VANTAGE_OPERANDS(logits_, tokens_, step_, seen_, bias_);
enum : int { next_tokens_, next_step_ };  // results
}  // namespace ops::sample

using ops::sample::sample_op;

}  // namespace vantage::internal
