// A recurrent layer over the rows of sequences, and its gradients.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::recurrent {
extern const OpDef recurrent_op;
VANTAGE_OPERANDS(x_, w_, b_, h0_, c0_, step_);
enum : int { h_, c_ };  // results; c of LSTMs only
}  // namespace ops::recurrent

/// The cell that a call names, CELL_RNN … of shaders/params/recurrent.h, and how many gates it has.
std::uint32_t recurrent_cell(const OpCall& call);
std::int64_t gates_of_cell(std::uint32_t cell);

namespace ops::recurrent_backward {
extern const OpDef recurrent_backward_op;
VANTAGE_OPERANDS(dh_, dc_, x_, y_, w_, before_, c_, c0_);
}  // namespace ops::recurrent_backward

using ops::recurrent::recurrent_op, ops::recurrent_backward::recurrent_backward_op;

}  // namespace vantage::internal
