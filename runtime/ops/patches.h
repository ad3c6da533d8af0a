// The patches of an image as rows.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

extern const OpDef patches_op;

namespace ops::patches {
VANTAGE_OPERANDS(x_);
}

}  // namespace vantage::internal
