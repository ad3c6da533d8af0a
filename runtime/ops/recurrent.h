// A recurrent layer over the rows of sequences.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::recurrent {
extern const OpDef recurrent_op;
VANTAGE_OPERANDS(x_, w_, b_, h0_, c0_, step_);
enum : int { h_, c_ };  // results; c of LSTMs only
}  // namespace ops::recurrent

using ops::recurrent::recurrent_op;

}  // namespace vantage::internal
