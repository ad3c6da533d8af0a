// Sets the bits of the tokens of a run in a set of seen tokens.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::mark_seen {
extern const OpDef mark_seen_op;
VANTAGE_OPERANDS(seen_, tokens_, step_);
}  // namespace ops::mark_seen

using ops::mark_seen::mark_seen_op;

}  // namespace vantage::internal
