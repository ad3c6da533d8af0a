// Finds installed fonts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/internal.h"

namespace vantage::internal {

enum class TextWeight : std::uint8_t { regular, bold };

/// Installed font files in order of preference: VANTAGE_FONT, DejaVu Sans or a similar font, then one for missing
/// characters.
std::vector<std::string> installed_fonts(TextWeight weight);

}  // namespace vantage::internal
