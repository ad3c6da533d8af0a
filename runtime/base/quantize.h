// Weights in 8 and 4 bits on the host: q8_0 and q4_0, with the arithmetic of ggml's reference. Layout: shaders/params/quantized.h.
#pragma once

#include <cstddef>
#include <span>

#include "vantage/tensor.h"

namespace vantage {

/// Rounds `values` to q8_0 or q4_0 and writes whole groups to `to`, info(type).bytes for each info(type).elements that are
/// begun; elements beyond the last are 0. The error of an element is at most, m being the largest magnitude of its block of 32,
///   q8_0  m (1 / 254 + 2⁻¹¹)      q4_0  m (1 / 8 + 2⁻¹¹), where the value has the other sign than the largest; else m (1 / 16 + 2⁻¹¹)
/// as long as scales are normal numbers of f16 (m over 0.008 and 0.0005), else 127 · 2⁻²⁵ and 8 · 2⁻²⁵ more. A block with an infinity
/// or a NaN, or with a scale beyond f16, becomes NaN: no value is made up.
void quantize(DType type, std::span<const float> values, std::span<std::byte> to);
/// The first values.size() elements of `from`; exact.
void dequantize(DType type, std::span<const std::byte> from, std::span<float> values);

}  // namespace vantage
