// Conversion of storage types on the host: IEEE half, bfloat16, and the quantized types, with the arithmetic of ggml's
// reference implementation. Layout: shaders/params/quantized.h.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "runtime/base/internal.h"
#include "vantage/tensor.h"

namespace vantage::internal {

/// Exact.
inline float half_to_float(std::uint16_t h) {
    const std::uint32_t sign = (h & 0x8000u) << 16, exponent = (h >> 10) & 31u, mantissa = h & 1023u;
    if (exponent == 31u) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
    if (exponent == 0u) {
        const float tiny = static_cast<float>(mantissa) * 0x1p-24f;
        return sign ? -tiny : tiny;
    }
    return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

/// Rounds to nearest, ties to even; overflow gives infinity, NaN stays NaN.
inline std::uint16_t float_to_half(float f) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(f), sign = (bits >> 16) & 0x8000u,
                        magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
    if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);
    if (magnitude < 0x38800000u) {  // subnormal half: add a number with the same ulp, and take the mantissa
        const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
        return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
    }
    const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

inline float bfloat_to_float(std::uint16_t b) { return std::bit_cast<float>(static_cast<std::uint32_t>(b) << 16); }

inline std::uint16_t float_to_bfloat(float f) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(f);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
    return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

inline std::uint32_t word_at(const std::byte* bytes) {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes, sizeof(word));
    return word;
}
inline float half_at(const std::byte* bytes) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes, sizeof(bits));
    return half_to_float(bits);
}

/// The types that weights may have.
inline constexpr std::array weight_dtypes{DType::f32,  DType::f16,  DType::bf16, DType::q8_0, DType::q4_0, DType::q4_1,
                                          DType::q5_0, DType::q5_1, DType::q4_k, DType::q5_k, DType::q6_k};

/// q8_0 and q4_0, which kernels multiply as bytes, and write: caches can have them.
inline bool has_byte_kernels(DType type) { return type == DType::q8_0 || type == DType::q4_0; }

/// Rounds `values` to a quantized type. `to` receives whole groups: info(type).bytes for each group of
/// info(type).elements, the last one padded with zeros. With m the largest magnitude in the block of 32 of an element,
/// its error is at most
///   q8_0  m (1/254 + 2⁻¹¹)
///   q4_0  m (1/8 + 2⁻¹¹) if its sign differs from that of the largest element, else m (1/16 + 2⁻¹¹)
/// If the scale is a subnormal f16 (m below 0.008 and 0.0005), the error is up to 127 · 2⁻²⁵ and 8 · 2⁻²⁵ larger.
/// A block with an infinity or a NaN, or with a scale beyond f16, becomes NaN; of q4_k, q5_k and q6_k that is 256
/// elements.
void quantize(DType type, std::span<const float> values, std::span<std::byte> to);
/// The first values.size() elements of `from`. Exact, but for the difference where a block has a minimum.
void dequantize(DType type, std::span<const std::byte> from, std::span<float> values);

}  // namespace vantage::internal
