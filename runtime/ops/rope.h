// Rotary positions, alone (rope) or with the rotated rows written into a cache (rope_write).
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

extern const OpDef rope_op, rope_write_op;

namespace ops::rope {
VANTAGE_OPERANDS(x_, table_, positions_, step_);
}

namespace ops::rope_write {
VANTAGE_OPERANDS(x_, table_, step_, state_);
}

}  // namespace vantage::internal
