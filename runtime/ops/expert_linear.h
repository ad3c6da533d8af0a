// A linear layer whose matrix is that of the expert of each row.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

extern const OpDef expert_linear_op;

namespace ops::expert_linear {
VANTAGE_OPERANDS(x_, w_, bias_, index_, slots_, order_, offsets_);
}

}  // namespace vantage::internal
