// Layer normalization of rows, with an optional residual.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

extern const OpDef layer_norm_op;

namespace ops::layer_norm {
VANTAGE_OPERANDS(x_, gamma_, beta_, residual_);
enum : int { y_, mean_, rstd_, sum_ };  // results
}  // namespace ops::layer_norm

}  // namespace vantage::internal
