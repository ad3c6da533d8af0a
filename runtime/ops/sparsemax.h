// Sparsemax over rows.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::sparsemax {
extern const OpDef sparsemax_op;
VANTAGE_OPERANDS(x_);
}  // namespace ops::sparsemax

using ops::sparsemax::sparsemax_op;

}  // namespace vantage::internal
