// A 5 × 7 bitmap font (printable ASCII), used if there is no font file.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/base/internal.h"

namespace vantage::internal {

/// Seven rows from the top; bit 4 is the leftmost dot.
using BitmapGlyph = std::array<std::uint8_t, 7>;
inline constexpr int bitmap_glyph_width = 5, bitmap_glyph_height = 7;

/// The glyph; nullptr outside U+0020 to U+007E.
const BitmapGlyph* bitmap_glyph(char32_t character);

}  // namespace vantage::internal
