// The attention of a recurrent decoder to its source.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::alignment {
extern const OpDef alignment_op;
VANTAGE_OPERANDS(q_, k_, v_, w_, step_, kv_len_);
enum : int { c_, s_, lse_ };  // results
}  // namespace ops::alignment

using ops::alignment::alignment_op;

}  // namespace vantage::internal
