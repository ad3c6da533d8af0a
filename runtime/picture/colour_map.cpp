#include "runtime/picture/colour_map.h"
#include "runtime/base/at.h"
#include "runtime/base/format.h"

#include <algorithm>
#include <cmath>

namespace vantage::internal {
namespace {

// Every fifth of the 256 colours, as 0xRRGGBB. Linear interpolation matches the published tables within 1/255 (cividis:
// 4/255). Magma and viridis are by S. van der Walt and N. Smith (2015, CC0), cividis by J. Nuñez,
// C. Anderton and R. Renslow (2018).
constexpr std::size_t anchor_step = 5;
using Anchors = std::array<std::uint32_t, 255 / anchor_step + 1>;

constexpr Anchors magma{0x000004, 0x02020b, 0x050416, 0x090720, 0x0e0b2b, 0x140e36, 0x1a1042, 0x21114e, 0x29115a,
                        0x311165, 0x390f6e, 0x420f75, 0x4a1079, 0x52137c, 0x5a167e, 0x621980, 0x6a1c81, 0x721f81,
                        0x792282, 0x812581, 0x892881, 0x912b81, 0x992d80, 0xa1307e, 0xaa337d, 0xb2357b, 0xba3878,
                        0xc23b75, 0xca3e72, 0xd2426f, 0xd9466b, 0xe04c67, 0xe75263, 0xec5860, 0xf1605d, 0xf4695c,
                        0xf7725c, 0xf97b5d, 0xfb8560, 0xfc8e64, 0xfd9869, 0xfea16e, 0xfeaa74, 0xfeb47b, 0xfebd82,
                        0xfec68a, 0xfecf92, 0xfed89a, 0xfde2a3, 0xfdebac, 0xfcf4b6, 0xfcfdbf};

constexpr Anchors viridis{0x440154, 0x46085c, 0x471063, 0x481769, 0x481d6f, 0x482475, 0x472a7a, 0x46307e, 0x453781,
                          0x433d84, 0x414287, 0x3f4889, 0x3d4e8a, 0x3a538b, 0x38598c, 0x355e8d, 0x33638d, 0x31688e,
                          0x2e6d8e, 0x2c718e, 0x2a768e, 0x297b8e, 0x27808e, 0x25848e, 0x23898e, 0x218e8d, 0x20928c,
                          0x1f978b, 0x1e9c89, 0x1fa188, 0x21a585, 0x24aa83, 0x28ae80, 0x2eb37c, 0x35b779, 0x3dbc74,
                          0x46c06f, 0x50c46a, 0x5ac864, 0x65cb5e, 0x70cf57, 0x7cd250, 0x89d548, 0x95d840, 0xa2da37,
                          0xb0dd2f, 0xbddf26, 0xcae11f, 0xd8e219, 0xe5e419, 0xf1e51d, 0xfde725};

constexpr Anchors cividis{0x00224e, 0x002656, 0x002a5f, 0x002d68, 0x003070, 0x083370, 0x163770, 0x203a6f, 0x273e6e,
                          0x2e416d, 0x34456c, 0x3a486c, 0x3f4c6c, 0x444f6c, 0x49536c, 0x4e566c, 0x535a6d, 0x575d6d,
                          0x5c616e, 0x60646f, 0x656870, 0x696b71, 0x6d6f72, 0x727274, 0x767676, 0x7a7a78, 0x7e7d78,
                          0x838179, 0x888578, 0x8d8878, 0x928c78, 0x969077, 0x9b9476, 0xa09875, 0xa59c74, 0xaaa073,
                          0xafa471, 0xb5a86f, 0xbaac6d, 0xbfb06b, 0xc4b468, 0xc9b965, 0xcfbd62, 0xd4c15f, 0xdac65b,
                          0xdfca57, 0xe5cf52, 0xead34c, 0xf0d846, 0xf6dd3f, 0xfce236, 0xfee838};

constexpr Rgb unpacked(std::uint32_t colour) {
    return {static_cast<std::uint8_t>(colour >> 16), static_cast<std::uint8_t>((colour >> 8) & 0xffu),
            static_cast<std::uint8_t>(colour & 0xffu)};
}

ColourTable interpolated(const Anchors& anchors) {
    ColourTable table;
    for (std::size_t i = 0; i < table.size(); ++i) {
        const std::size_t left = std::min(i / anchor_step, anchors.size() - 2);
        const float share = static_cast<float>(i - left * anchor_step) / static_cast<float>(anchor_step);
        table[i] = mixed(unpacked(anchors[left]), unpacked(anchors[left + 1]), share);
    }
    return table;
}

/// Equal steps of sRGB, which are close to equal steps of L*.
ColourTable greys() {
    ColourTable table;
    for (std::size_t i = 0; i < table.size(); ++i) {
        const auto level = static_cast<std::uint8_t>(i);
        table[i] = {level, level, level};
    }
    return table;
}

/// The colour between two colours with this lightness.
Rgb of_lightness(Rgb from, Rgb to, float wanted) {
    float low = 0, high = 1;
    const bool rises = lightness(to) > lightness(from);
    for (int i = 0; i < 16; ++i) {
        const float share = (low + high) / 2;
        ((lightness(mixed(from, to, share)) < wanted) == rises ? low : high) = share;
    }
    return mixed(from, to, high);
}

/// Equal steps of lightness from the middle to both ends, within the range of both.
ColourTable diverging(Rgb less, Rgb none, Rgb more) {
    const float middle = lightness(none), a = lightness(less), b = lightness(more);
    const float end = a > middle ? std::min(a, b) : std::max(a, b);
    ColourTable table;
    for (std::size_t i = 0; i < table.size(); ++i) {
        const float share = std::min(std::abs(static_cast<float>(i) - 128) / 127, 1.0f);
        table[i] = of_lightness(none, i < 128 ? less : more, middle + (end - middle) * share);
    }
    table[128] = none;
    return table;
}

}  // namespace

const char* name_of(ColourMap map) { return std::ranges::find(colour_map_words, map, &Word<ColourMap>::value)->word; }

const ColourTable& colours_of(ColourMap map, bool dark) {
    using Tables = std::array<ColourTable, 4>;
    static const Tables upwards{interpolated(magma), interpolated(viridis), interpolated(cividis), greys()};
    static const Tables downwards = [] {
        Tables tables = upwards;
        for (ColourTable& table : tables) std::ranges::reverse(table);
        return tables;
    }();
    return at(dark ? upwards : downwards, map);
}

const ColourTable& difference_colours(bool dark) {
    static const std::array<ColourTable, 2> tables{diverging({0, 74, 160}, {250, 250, 252}, {172, 66, 0}),
                                                   diverging({124, 190, 255}, {22, 24, 31}, {255, 166, 77})};
    return tables[dark ? 1 : 0];
}

Rgb difference_colour_at(bool dark, float position) {
    return at(difference_colours(dark), std::lround(128 + 127 * position));
}

Rgb colour_at(ColourMap map, float position, bool dark) {
    const float clamped = position > 0.0f ? std::min(position, 1.0f) : 0.0f;  // also for NaN
    return at(colours_of(map, dark), std::lround(clamped * 255.0f));
}

std::string hex(Rgb c) { return format("#{:02x}{:02x}{:02x}", c.r, c.g, c.b); }

float lightness(Rgb colour) {
    const auto linear = [](std::uint8_t level) {
        const float s = static_cast<float>(level) / 255.0f;
        return s <= 0.04045f ? s / 12.92f : std::pow((s + 0.055f) / 1.055f, 2.4f);
    };
    const float y = 0.2126f * linear(colour.r) + 0.7152f * linear(colour.g) + 0.0722f * linear(colour.b);
    return y <= 216.0f / 24389.0f ? y * 24389.0f / 27.0f : 116.0f * std::cbrt(y) - 16.0f;
}

}  // namespace vantage::internal
