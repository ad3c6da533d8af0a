// Perceptually uniform colour maps: equal steps of a value look like equal steps, also in grey and to the colour-blind.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/io/image.h"

namespace vantage {

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

}  // namespace vantage
