// Rotary positions, alone (rope) or with the rotated rows written into a cache (rope_write).
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::rope {
extern const OpDef rope_op, rope_write_op;
VANTAGE_OPERANDS(x_, table_, positions_, step_);
}  // namespace ops::rope

namespace ops::rope_write {
VANTAGE_OPERANDS(x_, table_, step_, state_);
}

using ops::rope::rope_op, ops::rope::rope_write_op;

}  // namespace vantage::internal
