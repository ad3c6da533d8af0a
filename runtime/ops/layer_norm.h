// Layer normalization of rows, with an optional residual.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::layer_norm {
extern const OpDef layer_norm_op;
VANTAGE_OPERANDS(x_, gamma_, beta_, residual_);
enum : int { y_, mean_, rstd_, sum_ };  // results
}  // namespace ops::layer_norm

using ops::layer_norm::layer_norm_op;

}  // namespace vantage::internal
