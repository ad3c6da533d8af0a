// Quantizes weights on the host to q8_0 and q4_0, with the arithmetic of ggml's reference implementation.
// Layout: shaders/params/quantized.h.
#pragma once

#include <cstddef>
#include <span>

#include "runtime/base/internal.h"
#include "vantage/tensor.h"

namespace vantage::internal {

/// Rounds `values` to q8_0 or q4_0. `to` receives whole groups: info(type).bytes for each group of info(type).elements,
/// the last one padded with zeros. With m the largest magnitude in the block of 32 of an element, its error is at most
///   q8_0  m (1/254 + 2⁻¹¹)
///   q4_0  m (1/8 + 2⁻¹¹) if its sign differs from that of the largest element, else m (1/16 + 2⁻¹¹)
/// If the scale is a subnormal f16 (m below 0.008 and 0.0005), the error is up to 127 · 2⁻²⁵ and 8 · 2⁻²⁵ larger.
/// A block with an infinity or a NaN, or with a scale beyond f16, becomes NaN.
void quantize(DType type, std::span<const float> values, std::span<std::byte> to);
/// The first values.size() elements of `from`. Exact.
void dequantize(DType type, std::span<const std::byte> from, std::span<float> values);

}  // namespace vantage::internal
