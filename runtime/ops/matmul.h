// Matrix products with bias, activation and residual.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

extern const OpDef matmul_op;

namespace ops::matmul {
VANTAGE_OPERANDS(a_, b_, bias_, residual_);
}

}  // namespace vantage::internal
