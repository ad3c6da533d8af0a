// Looks for values of weights that are not finite, fast enough for every byte that is loaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/internal.h"
#include "vantage/tensor.h"

namespace vantage::internal {

/// The first of these elements that is NaN or infinite, or their number. `type` is f32, f16 or bf16; quantised ones are
/// finite where their scales are, which their reader looks at. `words` may have padding of zeros. `minus_infinity`:
/// -inf is a value.
std::size_t first_not_finite(std::span<const std::uint64_t> words, DType type, bool minus_infinity = false);

}  // namespace vantage::internal
