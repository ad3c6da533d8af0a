// Choices of experts in the order of the experts.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::sort_by_expert {
extern const OpDef sort_by_expert_op;
VANTAGE_OPERANDS(index_);
enum : int { slots_, order_, offsets_ };  // results
}  // namespace ops::sort_by_expert

using ops::sort_by_expert::sort_by_expert_op;

}  // namespace vantage::internal
