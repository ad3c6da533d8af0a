#include "runtime/base/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "shaders/params/quantized.h"

namespace vantage::internal {

namespace {

using namespace params;
using Block = std::array<float, QUANT_BLOCK>;

std::size_t quant_bytes(DType type) { return type == DType::q8_0 ? Q8_QUANT_BYTES : Q4_QUANT_BYTES; }

// Byte offsets of the quants and of the scale of block `index` of a tensor.
struct Place {
    std::size_t quants, scale;
};
Place place_of(DType type, std::size_t index) {
    constexpr std::size_t blocks = QUANT_GROUP / QUANT_BLOCK;
    const std::size_t group = index / blocks * info(type).bytes, block = index % blocks;
    return {group + block * (quant_bytes(type) / blocks), group + quant_bytes(type) + block * sizeof(std::uint16_t)};
}

// The first element of largest magnitude. NaN when an element is not finite.
float largest(const Block& x) {
    float found = 0;
    for (const float value : x) {
        if (!std::isfinite(value)) return std::numeric_limits<float>::quiet_NaN();
        if (std::abs(value) > std::abs(found)) found = value;
    }
    return found;
}

float inverse_of(float d) {  // 0 for scales that are 0 in f16
    return std::abs(d) >= std::numeric_limits<float>::min() ? 1 / d : 0;
}

float quantize_8(const Block& x, std::byte* quants) {
    const float d = std::abs(largest(x)) / 127, inverse = inverse_of(d);
    for (std::size_t i = 0; i < QUANT_BLOCK; ++i)
        quants[i] = static_cast<std::byte>(static_cast<std::int8_t>(std::round(x[i] * inverse)));
    return d;
}

// The product is computed in double, so that the result does not depend on fused multiplication.
float quantize_4(const Block& x, std::byte* quants) {
    const float d = largest(x) / -8;
    const double inverse = inverse_of(d);
    const auto quant = [&](float value) { return static_cast<unsigned>(std::min(15.0, value * inverse + 8.5)); };
    for (std::size_t i = 0; i < QUANT_BLOCK / 2; ++i)
        quants[i] = static_cast<std::byte>(quant(x[i]) | quant(x[i + QUANT_BLOCK / 2]) << 4);
    return d;
}

}  // namespace

void quantize(DType type, std::span<const float> values, std::span<std::byte> to) {
    std::ranges::fill(to, std::byte{0});
    for (std::size_t first = 0; first < values.size(); first += QUANT_BLOCK) {
        Block x{};
        std::ranges::copy(values.subspan(first, std::min<std::size_t>(QUANT_BLOCK, values.size() - first)), x.begin());
        const Place place = place_of(type, first / QUANT_BLOCK);
        std::byte* quants = to.data() + place.quants;
        const float d = std::isnan(largest(x)) ? std::numeric_limits<float>::quiet_NaN()
                        : type == DType::q8_0  ? quantize_8(x, quants)
                                               : quantize_4(x, quants);
        std::uint16_t scale = float_to_half(d);
        if (!std::isfinite(half_to_float(scale))) scale = float_to_half(std::numeric_limits<float>::quiet_NaN());
        std::memcpy(to.data() + place.scale, &scale, sizeof(scale));
    }
}

void dequantize(DType type, std::span<const std::byte> from, std::span<float> values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        const Place place = place_of(type, i / QUANT_BLOCK);
        const std::size_t at = i % QUANT_BLOCK, half = QUANT_BLOCK / 2;
        std::uint16_t scale = 0;
        std::memcpy(&scale, from.data() + place.scale, sizeof(scale));
        const auto bits = std::to_integer<unsigned>(from[place.quants + (type == DType::q8_0 ? at : at % half)]);
        const int quant = type == DType::q8_0 ? static_cast<std::int8_t>(bits)
                                              : static_cast<int>(bits >> (at < half ? 0 : 4) & 15u) - 8;
        values[i] = half_to_float(scale) * static_cast<float>(quant);
    }
}

}  // namespace vantage::internal
