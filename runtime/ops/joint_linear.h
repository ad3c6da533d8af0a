// Two or three linear layers of the same rows in one launch. linear_rope_write also turns queries and keys and writes
// keys and values into the caches (runtime/ops/linear_rope_write.cpp).
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::joint_linear {
extern const OpDef joint_linear_op;
VANTAGE_OPERANDS(x_, w0_, w1_, w2_, bias0_, bias1_, bias2_);
std::vector<Kernel> kernels();  ///< of both ops
}  // namespace ops::joint_linear

namespace ops::linear_rope_write {
extern const OpDef linear_rope_write_op;
VANTAGE_OPERANDS(x_, w0_, w1_, w2_, bias0_, bias1_, bias2_, table_, step_, k_state_, v_state_);  // q, k, v
enum : std::uint8_t { k_cache_, v_cache_, q_out_ };                                              ///< results
inline constexpr std::int64_t widths = 8;  ///< of heads, and of what turns of them: multiples of this
}  // namespace ops::linear_rope_write

using ops::joint_linear::joint_linear_op, ops::linear_rope_write::linear_rope_write_op;

}  // namespace vantage::internal
