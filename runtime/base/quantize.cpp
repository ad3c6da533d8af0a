#include "runtime/base/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "runtime/base/ggml_blocks.h"
#include "shaders/params/quantized.h"

namespace vantage::internal {

namespace {

using namespace params;

// Of a block: x = scale q - minimum, with a scale for each half.
struct Scales {
    std::array<float, 2> scale;
    float minimum = 0;
};
// `scales` is those of the block's group. Products are exact in f32.
Scales scales_of(DType type, const std::byte* scales, std::size_t block) {
    if (type == DType::q4_k || type == DType::q5_k) {
        const auto nibble = [&](std::size_t word) { return word_at(scales + 4 * word) >> 4 * block & 15U; };
        const std::uint32_t s = nibble(1) | (nibble(3) & 3U) << 4, n = nibble(2) | nibble(3) >> 2 << 4;
        const float scale = half_at(scales) * static_cast<float>(s);
        return {{scale, scale}, half_at(scales + 2) * static_cast<float>(n)};
    }
    if (type == DType::q6_k) {
        const float d = half_at(scales + 2 * Q6_K_GROUP / QUANT_BLOCK + block / 8 * 2);
        const auto of_half = [&](std::size_t h) {
            return d * static_cast<float>(std::to_integer<std::int8_t>(scales[2 * block + h]));
        };
        return {{of_half(0), of_half(1)}};
    }
    if (type == DType::q4_1 || type == DType::q5_1) {
        const float scale = half_at(scales + 4 * block);
        return {{scale, scale}, -half_at(scales + 4 * block + 2)};
    }
    const float scale = half_at(scales + 2 * block);
    return {{scale, scale}};
}

// Element `at` of a block of a group.
int quant_of(DType type, const QuantLayout& l, const std::byte* group, std::size_t block, std::uint32_t at) {
    if (type == DType::q8_0) return std::to_integer<std::int8_t>(group[block * QUANT_BLOCK + at]);
    const auto pair = std::to_integer<unsigned>(group[block * QUANT_BLOCK / 2 + at % 16]);
    const unsigned low = at < 16 ? pair & 15U : pair >> 4, quad = at / 4, byte = at % 4;
    const std::byte* const high = group + l.quants;
    if (type == DType::q6_k) {
        const unsigned bits = word_at(high + 8 * block + 4 * (quad / 4)) >> (8 * byte + 2 * (quad % 4)) & 3U;
        return static_cast<int>(low | bits << 4) - 32;
    }
    if (l.high == 0) return static_cast<int>(low) - (type == DType::q4_0 ? 8 : 0);
    const unsigned bit = word_at(high + 4 * block) >> (8 * byte + quad) & 1U;
    return static_cast<int>(low | bit << 4) - (type == DType::q5_0 ? 16 : 0);
}

}  // namespace

void quantize(DType type, std::span<const float> values, std::span<std::byte> to) {
    const std::size_t elements = block_elements(type), bytes = block_bytes(type), group = info(type).bytes;
    const std::uint16_t nan = float_to_half(std::numeric_limits<float>::quiet_NaN());
    // Numbers of this size are beyond the scales of all types; what is smaller can be squared and summed in f32.
    const auto holdable = [](float value) { return std::abs(value) < 1e9F; };
    std::vector<float> block(elements);
    std::vector<std::byte> blocks(group);
    for (std::size_t first = 0, made = 0; made < to.size(); made += group) {
        std::ranges::fill(blocks, std::byte{0});
        for (std::size_t b = 0; b < group && first < values.size(); b += bytes, first += elements) {
            const auto some = values.subspan(first, std::min(elements, values.size() - first));
            std::ranges::fill(std::ranges::copy(some, block.begin()).out, block.end(), 0.0F);
            std::byte* const place = blocks.data() + b;
            const bool all_holdable = std::ranges::all_of(block, holdable);
            if (all_holdable) quantize_block(type, block, place);
            for (const std::uint8_t scale : scale_places(type))
                if (!all_holdable || !std::isfinite(half_at(place + scale)))
                    std::memcpy(place + scale, &nan, sizeof(nan));
        }
        regroup(type, blocks.data(), to.data() + made);
    }
}

void dequantize(DType type, std::span<const std::byte> from, std::span<float> values) {
    const DTypeInfo& group = info(type);
    const QuantLayout l = layout_of(type);
    for (std::size_t first = 0; first < values.size(); first += QUANT_BLOCK) {
        const std::byte* const own = from.data() + first / group.elements * group.bytes;
        const std::size_t block = first % group.elements / QUANT_BLOCK;
        const Scales s = scales_of(type, own + l.quants + l.high, block);
        const std::size_t count = std::min<std::size_t>(QUANT_BLOCK, values.size() - first);
        for (std::uint32_t at = 0; at < count; ++at)
            values[first + at] = s.scale[at / 16] * static_cast<float>(quant_of(type, l, own, block, at)) - s.minimum;
    }
}

}  // namespace vantage::internal
