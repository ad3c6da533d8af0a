// Splits a packed projection into q, k and v; split_qkv_write writes k and v into caches.
#pragma once

#include "runtime/graph/op_def.h"

namespace vantage::internal {

namespace ops::split_qkv {
extern const OpDef split_qkv_op, split_qkv_write_op;
VANTAGE_OPERANDS(x_);
enum : int { q_, k_, v_ };  // results
}  // namespace ops::split_qkv

namespace ops::split_qkv_write {
VANTAGE_OPERANDS(x_, k_state_, v_state_, step_);
}

using ops::split_qkv::split_qkv_op, ops::split_qkv::split_qkv_write_op;

}  // namespace vantage::internal
