// Sums and maxima of the weights of all heads, by rows and by keys.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::head_statistics {
extern const OpDef head_statistics_op;
VANTAGE_OPERANDS(q_, k_, lse_, mask_, position_bias_, block_mask_, segments_, factors_, tokens_);
enum : int { rows_, keys_ };  // results
}  // namespace ops::head_statistics

using ops::head_statistics::head_statistics_op;

}  // namespace vantage::internal
