// Matrix products with bias, activation and residual.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::matmul {
extern const OpDef matmul_op;
VANTAGE_OPERANDS(a_, b_, bias_, residual_);
}  // namespace ops::matmul

using ops::matmul::matmul_op;

}  // namespace vantage::internal
