// Perceptually uniform colour maps: equal steps of a value look like equal steps, also in grey and to the colour-blind.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace vantage {

/// An sRGB colour.
struct Rgb {
    std::uint8_t r = 0, g = 0, b = 0;
    bool operator==(const Rgb&) const = default;
};

/// Darkest colour first. The same bytes go into PNG files, terminals and the viewer's shader.
using ColourTable = std::array<Rgb, 256>;

enum class ColourMap : std::uint8_t { magma, viridis, cividis, grey };
const char* name_of(ColourMap map);
std::optional<ColourMap> colour_map_named(std::string_view name);

const ColourTable& colours_of(ColourMap map);
/// Of signed numbers, for the colour-blind, too: from blue (less) by black or white (the same, at 128) to orange (more). Equally far
/// from the middle both sides are equally bright.
const ColourTable& difference_colours(bool dark);
/// The colour at `position` in [0, 1]; what lies outside gets the colour of the nearer end.
Rgb colour_at(ColourMap map, float position);

/// CIE L* in [0, 100].
float lightness(Rgb colour);
/// `share` = 0 gives `a`, 1 gives `b`.
Rgb mixed(Rgb a, Rgb b, float share);

}  // namespace vantage
