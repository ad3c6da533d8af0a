// Batch normalization by channel.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::batch_norm {
extern const OpDef batch_norm_op;
VANTAGE_OPERANDS(x_, gamma_, beta_, mean_, variance_);
enum : int { y_, new_mean_, new_variance_ };  // results
}  // namespace ops::batch_norm

using ops::batch_norm::batch_norm_op;

}  // namespace vantage::internal
