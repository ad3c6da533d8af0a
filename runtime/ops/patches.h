// The patches of an image as rows.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::patches {
extern const OpDef patches_op;
VANTAGE_OPERANDS(x_);
}  // namespace ops::patches

using ops::patches::patches_op;

}  // namespace vantage::internal
