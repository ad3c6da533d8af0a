// Sets the bits of the tokens of a run in a set of seen tokens.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

extern const OpDef mark_seen_op;

namespace ops::mark_seen {
VANTAGE_OPERANDS(seen_, tokens_, step_);
}

}  // namespace vantage::internal
