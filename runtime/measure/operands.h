// Operands for measured calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/base/internal.h"
#include "vantage/op.h"

namespace vantage::internal {

/// The content of operand `i` of a measured call: a whole number of elements, repeated until the operand is full. Valid
/// and typical values by the meaning of the operand: ids within the table, a step whose rows are at the end of `keys`
/// rows of the cache (0: a full cache), a uniform choice of experts, floats around 0 of such a size that sums stay near
/// 1.
std::vector<std::byte> default_operand(const OpCall& call, int i, std::int64_t keys = 0);

}  // namespace vantage::internal
