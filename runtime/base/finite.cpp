#include "runtime/base/finite.h"

#include <cmath>
#include <cstring>

#include "runtime/base/quantize.h"

namespace vantage::internal {

namespace {

/// Eight bytes of elements are not finite when one of them has all bits of the exponent; `one` carries out of these.
struct Exponents {
    std::uint64_t mask, one, carry;
};
Exponents exponents_of(DType type) {
    if (type == DType::f16) return {0x7c007c007c007c00, 0x0400040004000400, 0x8000800080008000};
    if (type == DType::bf16) return {0x7f807f807f807f80, 0x0080008000800080, 0x8000800080008000};
    return {0x7f8000007f800000, 0x0080000000800000, 0x8000000080000000};
}

float element(std::span<const std::uint64_t> words, DType type, std::size_t index) {
    const auto* bytes = reinterpret_cast<const char*>(words.data()) + index * info(type).bytes;
    if (type == DType::f32) {
        float value;
        std::memcpy(&value, bytes, sizeof value);
        return value;
    }
    std::uint16_t word;
    std::memcpy(&word, bytes, sizeof word);
    return type == DType::f16 ? half_to_float(word) : bfloat_to_float(word);
}

}  // namespace

std::size_t first_not_finite(std::span<const std::uint64_t> words, DType type, bool minus_infinity) {
    if (is_quantized(type)) return words.size_bytes() / info(type).bytes;
    const Exponents e = exponents_of(type);
    std::uint64_t any = 0;
    for (const std::uint64_t word : words) any |= (word & e.mask) + e.one;
    const std::size_t count = words.size_bytes() / info(type).bytes;
    if ((any & e.carry) == 0) return count;
    for (std::size_t i = 0; i < count; ++i)
        if (const float value = element(words, type, i);
            !std::isfinite(value) && !(minus_infinity && std::isinf(value) && value < 0))
            return i;
    return count;
}

}  // namespace vantage::internal
