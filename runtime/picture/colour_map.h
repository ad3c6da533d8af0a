// Perceptually uniform colour maps: equal steps of the value look equal, also in greyscale and to colour-blind readers.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "runtime/io/image.h"
#include "runtime/picture/word.h"

namespace vantage::internal {

/// The colour of zero first. PNG files, terminals and the viewer's shader use the same bytes.
using ColourTable = std::array<Rgb, 256>;

enum class ColourMap : std::uint8_t { magma, viridis, cividis, grey };
inline constexpr Word<ColourMap> colour_map_words[] = {{ColourMap::magma, "magma"},
                                                       {ColourMap::viridis, "viridis"},
                                                       {ColourMap::cividis, "cividis"},
                                                       {ColourMap::grey, "grey"}};
const char* name_of(ColourMap map);

/// On a dark background the darkest colour first, on a light one the brightest: zero is close to the background.
const ColourTable& colours_of(ColourMap map, bool dark = true);
/// Diverging map for differences: blue (negative), black or white (zero, index 128), orange (positive). Both sides have
/// the same lightness at the same distance from zero. Also for colour-blind readers.
const ColourTable& difference_colours(bool dark);
/// The colour at `position` in [−1, 1].
Rgb difference_colour_at(bool dark, float position);
/// The colour at `position` in [0, 1]; positions outside are clamped.
Rgb colour_at(ColourMap map, float position, bool dark = true);

/// "#48dbcd".
std::string hex(Rgb colour);
/// CIE L* in [0, 100].
float lightness(Rgb colour);

}  // namespace vantage::internal
