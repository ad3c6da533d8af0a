#include "runtime/base/ggml_blocks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/base/quantize.h"
#include "shaders/params/quantized.h"

namespace vantage::internal {

namespace {

using namespace params;
using Values = std::span<const float>;
using Quants = std::span<std::uint8_t>;

constexpr std::size_t large_block = 256, small_each = large_block / QUANT_BLOCK, half = QUANT_BLOCK / 2;

bool is_large(DType type) { return type == DType::q4_k || type == DType::q5_k || type == DType::q6_k; }

// ---- to groups ------------------------------------------------------------------------------------------------------

void put(std::byte* to, std::uint32_t word) { std::memcpy(to, &word, sizeof(word)); }

// Bits c of 4 as bits 8 c.
std::uint32_t one_each_byte(std::uint32_t bits) { return bits * 0x00204081U & 0x01010101U; }

// A block of 32, whose f16 scales are before `high` words of high bits and the quants.
void regroup_small(DType type, std::size_t index, const std::byte* block, std::byte* group) {
    const QuantLayout l = layout_of(type);
    const std::size_t scales = scale_places(type).size() * sizeof(std::uint16_t), quants = l.quants / small_each;
    std::memcpy(group + l.quants + l.high + index * scales, block, scales);
    if (l.high > 0) {
        const std::uint32_t bits = word_at(block + scales);
        std::uint32_t high = 0;
        for (std::uint32_t quad = 0; quad < 8; ++quad) high |= one_each_byte(bits >> 4 * quad & 15U) << quad;
        put(group + l.quants + index * sizeof(high), high);
    }
    std::memcpy(group + index * quants, block + block_bytes(type) - quants, quants);
}

struct SixBits {
    std::uint32_t scale, minimum;
};
// s and n of block b of 8, from the 12 bytes that have those of all.
SixBits six_bits(const std::byte* bytes, std::size_t b) {
    const auto at = [&](std::size_t i) { return std::to_integer<std::uint32_t>(bytes[i]); };
    if (b < 4) return {at(b) & 63U, at(b + 4) & 63U};
    return {(at(b + 4) & 15U) | at(b - 4) >> 6 << 4, at(b + 4) >> 4 | at(b) >> 6 << 4};
}

// Low or high halves of 32 bytes as the quants of a block: those of elements j and j + 16 share a byte.
void pair_halves(const std::byte* from, bool upper, std::byte* to) {
    for (std::size_t j = 0; j < half; ++j)
        to[j] =
            upper ? from[j] >> 4 | (from[j + half] & std::byte{0xf0}) : (from[j] & std::byte{15}) | from[j + half] << 4;
}

// d and dmin, the 12 bytes, of q5_k a byte for element i of all blocks, then two blocks to 32 bytes.
void regroup_four_or_five(DType type, const std::byte* block, std::byte* group) {
    const QuantLayout l = layout_of(type);
    const std::byte *const scales = block + 4, *const high = scales + 12, *const quants = high + l.high;
    std::array<std::uint32_t, 3> packed{};
    for (std::uint32_t b = 0; b < small_each; ++b) {
        const SixBits six = six_bits(scales, b);
        packed[0] |= (six.scale & 15U) << 4 * b, packed[1] |= (six.minimum & 15U) << 4 * b;
        packed[2] |= (six.scale >> 4 | six.minimum >> 4 << 2) << 4 * b;
        pair_halves(quants + b / 2 * QUANT_BLOCK, b % 2 == 1, group + b * half);
        if (l.high == 0) continue;
        std::uint32_t bits = 0;
        for (std::uint32_t quad = 0; quad < 8; ++quad) bits |= (word_at(high + 4 * quad) >> b & 0x01010101U) << quad;
        put(group + l.quants + 4 * b, bits);
    }
    std::memcpy(group + l.quants + l.high, block, 4);
    std::memcpy(group + l.quants + l.high + 4, packed.data(), sizeof(packed));
}

// 128 bytes of low halves and 64 of high bits, for 128 elements each half of them; 16 scales; d.
void regroup_six(std::size_t index, const std::byte* block, std::byte* group) {
    const QuantLayout l = layout_of(DType::q6_k);
    for (std::uint32_t b = 0; b < small_each; ++b) {
        const std::size_t place = index * small_each + b;
        pair_halves(block + b / 4 * 64 + b % 2 * 32, b % 4 > 1, group + place * half);
        for (std::uint32_t h = 0; h < 2; ++h) {
            const std::byte* const high = block + 128 + b / 4 * 32 + 16 * h;
            std::uint32_t bits = 0;
            for (std::uint32_t quad = 0; quad < 4; ++quad)
                bits |= (word_at(high + 4 * quad) >> 2 * (b % 4) & 0x03030303U) << 2 * quad;
            put(group + l.quants + place * 8 + 4 * h, bits);
        }
    }
    std::memcpy(group + l.quants + l.high + 16 * index, block + 192, 16);
    std::memcpy(group + l.quants + l.high + 16 * small_each + 2 * index, block + 208, 2);
}

// ---- from floats ----------------------------------------------------------------------------------------------------

// The first element of largest magnitude, or 0.
float largest(Values x) {
    float found = 0;
    for (const float value : x)
        if (std::abs(value) > std::abs(found)) found = value;
    return found;
}
float inverse_of(float d) {  // 0 for scales that are 0 in f16
    return std::abs(d) >= std::numeric_limits<float>::min() ? 1 / d : 0;
}
// The nearest integer from low to high; low for NaN.
int nearest(float x, int low, int high) {
    const auto least = static_cast<float>(low), most = static_cast<float>(high);
    return x > least ? static_cast<int>(std::nearbyint(std::min(x, most))) : low;
}
std::uint8_t nearest(float x, int most) { return static_cast<std::uint8_t>(nearest(x, 0, most)); }

void put_half(std::byte* to, float value) {
    const std::uint16_t bits = float_to_half(value);
    std::memcpy(to, &bits, sizeof(bits));
}

void quantize_8(Values x, std::byte* block) {
    const float d = std::abs(largest(x)) / 127, inverse = inverse_of(d);
    put_half(block, d);
    for (std::size_t i = 0; i < QUANT_BLOCK; ++i)
        block[2 + i] = static_cast<std::byte>(static_cast<std::int8_t>(std::round(x[i] * inverse)));
}

// q4_0, q4_1, q5_0, q5_1: the quants from the smallest number on, or from the largest one's opposite. As in gguf-py, a
// result does not depend on fused multiplication: without a minimum it is computed in double, with one each step is
// rounded to f32.
void quantize_small(DType type, Values x, std::byte* block) {
    const bool has_minimum = scale_places(type).size() == 2, five = layout_of(type).high > 0;
    const int levels = five ? 32 : 16, middle = levels / 2;
    const auto [low, high] = std::ranges::minmax(x);
    const float d =
        has_minimum ? (high - low) / static_cast<float>(levels - 1) : largest(x) / static_cast<float>(-middle);
    const double inverse = inverse_of(d);
    const auto level = [&](float value) {
        if (!has_minimum) return value * inverse + (middle + 0.5);
        const auto steps = static_cast<float>((value - low) * inverse);
        return static_cast<double>(steps + 0.5F);
    };
    std::uint32_t bits = 0;
    std::byte *const bits_at = block + 2 * scale_places(type).size(), *const quants =
                                                                          bits_at + (five ? sizeof(bits) : 0);
    std::fill_n(quants, half, std::byte{0});
    for (std::uint32_t i = 0; i < QUANT_BLOCK; ++i) {
        const auto q = static_cast<std::uint32_t>(std::min<double>(levels - 1, level(x[i])));
        quants[i % half] |= static_cast<std::byte>((q & 15U) << (i < half ? 0 : 4));
        bits |= q >> 4 << i;
    }
    if (five) put(bits_at, bits);
    put_half(block, d);
    if (has_minimum) put_half(block + 2, low);
}

// Of x ~ scale q - minimum, minimum >= 0.
struct Fit {
    float scale = 0, minimum = 0;
};
// How q4_k and q5_k try scales: (most + first + 0.1 i) / (largest - smallest), i = 0 … steps.
struct Trials {
    int most, steps;
    float first;
};
constexpr Trials four_bits{.most = 15, .steps = 20, .first = -1}, five_bits{.most = 31, .steps = 15, .first = -0.5F};

// The least squares of `weights` over x and these quants.
Fit least_squares(Values x, Values weights, Quants q) {
    float w = 0, wx = 0, wq = 0, wqq = 0, wxq = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const auto level = static_cast<float>(q[i]);
        w += weights[i], wx += weights[i] * x[i], wq += weights[i] * level;
        wqq += weights[i] * level * level, wxq += weights[i] * level * x[i];
    }
    const float determinant = w * wqq - wq * wq;
    if (determinant <= 0) return {};
    const Fit fit{(w * wxq - wx * wq) / determinant, -(wqq * wx - wq * wxq) / determinant};
    return fit.minimum >= 0 ? fit : Fit{wxq / wqq, 0};
}
float error_of(const Fit& fit, Values x, Values weights, Quants q) {
    float error = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const float off = fit.scale * static_cast<float>(q[i]) - fit.minimum - x[i];
        error += weights[i] * off * off;
    }
    return error;
}
Fit fit_with_minimum(Values x, const Trials& trials) {
    std::array<float, QUANT_BLOCK> weights;
    std::array<std::uint8_t, QUANT_BLOCK> q;
    float squares = 0;
    for (const float value : x) squares += value * value;
    const float size = std::sqrt(squares / static_cast<float>(x.size()));
    std::ranges::transform(x, weights.begin(), [&](float value) { return size + std::abs(value); });
    const auto [smallest, high] = std::ranges::minmax(x);
    const float low = std::min(smallest, 0.0F);
    if (high - low < 1e-20F) return {0, -low};  // far below what an f16 scale can tell from 0
    const auto round_by = [&](float inverse) {
        std::ranges::transform(x, q.begin(),
                               [&](float value) { return nearest(inverse * (value - low), trials.most); });
    };
    Fit best{(high - low) / static_cast<float>(trials.most), -low};
    round_by(1 / best.scale);
    float least = error_of(best, x, weights, q);
    for (int i = 0; i <= trials.steps; ++i) {
        round_by((static_cast<float>(trials.most) + trials.first + 0.1F * static_cast<float>(i)) / (high - low));
        const Fit fit = least_squares(x, weights, q);
        if (fit.scale == 0) continue;
        if (const float error = error_of(fit, x, weights, q); error < least) best = fit, least = error;
    }
    return best;
}

void put_six_bits(std::byte* bytes, std::size_t b, SixBits six) {
    const auto add = [&](std::size_t i, std::uint32_t bits) { bytes[i] |= static_cast<std::byte>(bits); };
    if (b < 4) {
        add(b, six.scale), add(b + 4, six.minimum);
    } else {
        add(b + 4, (six.scale & 15U) | six.minimum << 4);
        add(b - 4, six.scale >> 4 << 6), add(b, six.minimum >> 4 << 6);
    }
}

void quantize_four_or_five(DType type, Values x, std::byte* block) {
    const bool five = type == DType::q5_k;
    const Trials& trials = five ? five_bits : four_bits;
    std::array<Fit, small_each> fits;
    Fit most;
    for (std::size_t b = 0; b < small_each; ++b) {
        fits[b] = fit_with_minimum(x.subspan(b * QUANT_BLOCK, QUANT_BLOCK), trials);
        most = {std::max(most.scale, fits[b].scale), std::max(most.minimum, fits[b].minimum)};
    }
    std::fill_n(block, block_bytes(type), std::byte{0});
    put_half(block, most.scale / 63), put_half(block + 2, most.minimum / 63);
    const float d = half_at(block), dmin = half_at(block + 2), inverse = most.scale > 0 ? 63 / most.scale : 0,
                inverse_minimum = most.minimum > 0 ? 63 / most.minimum : 0;
    std::byte *const high = block + 16, *const quants = high + (five ? QUANT_BLOCK : 0);
    for (std::size_t b = 0; b < small_each; ++b) {
        const SixBits six{nearest(inverse * fits[b].scale, 63), nearest(inverse_minimum * fits[b].minimum, 63)};
        put_six_bits(block + 4, b, six);
        const float scale = d * static_cast<float>(six.scale), minimum = dmin * static_cast<float>(six.minimum);
        for (std::size_t i = 0; i < QUANT_BLOCK && scale > 0; ++i) {
            const std::uint32_t q = nearest((x[b * QUANT_BLOCK + i] + minimum) / scale, trials.most);
            quants[b / 2 * QUANT_BLOCK + i] |= static_cast<std::byte>((q & 15U) << 4 * (b % 2));
            if (five) high[i] |= static_cast<std::byte>(q >> 4 << b);
        }
    }
}

// The scale of 16 elements, x ~ scale q with q in -32 … 31: of 19 the one whose error, weighted by x², is the smallest.
float fit_six(Values x) {
    const float top = largest(x);
    if (std::abs(top) < 1e-15F) return 0;
    float best = 0, scale = 0;
    for (int i = 0; i < 19; ++i) {
        const int step = i == 0 ? 0 : i < 10 ? i - 10 : i - 9;  // 0 first, then -9 … -1, 1 … 9
        const float inverse = -(32 + 0.1F * static_cast<float>(step)) / top;
        float along = 0, squares = 0;
        for (const float value : x) {
            const auto q = static_cast<float>(nearest(inverse * value, -32, 31));
            along += value * value * value * q, squares += value * value * q * q;
        }
        if (squares > 0 && (i == 0 || along * along > best * squares)) scale = along / squares, best = scale * along;
    }
    return scale;
}

void quantize_six(Values x, std::byte* block) {
    constexpr std::size_t each = 16;
    std::array<float, each> fits;
    for (std::size_t s = 0; s < fits.size(); ++s) fits[s] = fit_six(x.subspan(s * each, each));
    const float top = largest(fits);
    std::fill_n(block, block_bytes(DType::q6_k), std::byte{0});
    if (std::abs(top) < 1e-15F) return;
    const float inverse = -128 / top;
    put_half(block + 208, 1 / inverse);
    const float d = half_at(block + 208);
    for (std::size_t s = 0; s < fits.size(); ++s) {
        const int six = nearest(inverse * fits[s], -128, 127);
        block[192 + s] = static_cast<std::byte>(static_cast<std::int8_t>(six));
        const float scale = d * static_cast<float>(six);
        for (std::size_t i = s * each; i < (s + 1) * each; ++i) {
            const std::uint32_t q = scale != 0 ? nearest(x[i] / scale + 32, 63) : 32U;
            const std::size_t b = i / QUANT_BLOCK, at = i % QUANT_BLOCK;
            block[b / 4 * 64 + b % 2 * 32 + at] |= static_cast<std::byte>((q & 15U) << (b % 4 > 1 ? 4 : 0));
            block[128 + b / 4 * 32 + at] |= static_cast<std::byte>(q >> 4 << 2 * (b % 4));
        }
    }
}

}  // namespace

std::size_t block_elements(DType type) { return is_large(type) ? large_block : QUANT_BLOCK; }
std::size_t block_bytes(DType type) { return info(type).bytes / (info(type).elements / block_elements(type)); }

std::span<const std::uint8_t> scale_places(DType type) {
    static constexpr std::array<std::uint8_t, 2> first{0, 2};
    static constexpr std::array<std::uint8_t, 1> last{208};
    if (type == DType::q6_k) return last;
    const bool two = type == DType::q4_1 || type == DType::q5_1 || is_large(type);
    return std::span(first).first(two ? 2 : 1);
}

QuantLayout layout_of(DType type) {
    const DTypeInfo& group = info(type);
    QuantLayout l{.quants = type == DType::q8_0 ? group.elements : group.elements / 2, .scales = BLOCK_SCALES};
    if (type == DType::q4_1 || type == DType::q5_1) l.scales = PAIR_SCALES;
    if (type == DType::q6_k) l.scales = Q6_K_SCALES;
    l.high = group.bytes - l.quants - l.scales;
    return l;
}

void regroup(DType type, const std::byte* blocks, std::byte* group) {
    const std::size_t count = info(type).elements / block_elements(type), size = block_bytes(type);
    for (std::size_t b = 0; b < count; ++b) {
        const std::byte* const block = blocks + b * size;
        if (type == DType::q6_k)
            regroup_six(b, block, group);
        else if (is_large(type))
            regroup_four_or_five(type, block, group);
        else
            regroup_small(type, b, block, group);
    }
}

void quantize_block(DType type, Values values, std::byte* block) {
    if (type == DType::q8_0) return quantize_8(values, block);
    if (type == DType::q6_k) return quantize_six(values, block);
    if (is_large(type)) return quantize_four_or_five(type, values, block);
    quantize_small(type, values, block);
}

}  // namespace vantage::internal
