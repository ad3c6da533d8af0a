// Rotary positions, alone (rope) or with the rotated rows written into a cache (rope_write), of keys alone or with the
// queries and values of the same tokens.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::rope {
extern const OpDef rope_op, rope_write_op;
VANTAGE_OPERANDS(x_, table_, positions_, step_);
}  // namespace ops::rope

namespace ops::rope_write {
VANTAGE_OPERANDS(x_, table_, step_, state_, q_, v_, v_state_);
enum : std::uint8_t { k_cache_, v_cache_, q_out_ };  ///< results; the last two only with q
}  // namespace ops::rope_write

/// A table of angles for cases of both ops, and of linear_rope_write.
Case::Input angles_of_case(std::int64_t positions, std::int64_t rotary);

using ops::rope::rope_op, ops::rope::rope_write_op;

}  // namespace vantage::internal
