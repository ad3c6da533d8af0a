// Root mean square normalization of rows, with an optional residual.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::rms_norm {
extern const OpDef rms_norm_op;
VANTAGE_OPERANDS(x_, weight_, residual_);
enum : int { y_, rstd_, sum_ };  // results
}  // namespace ops::rms_norm

using ops::rms_norm::rms_norm_op;

}  // namespace vantage::internal
