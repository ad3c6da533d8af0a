// Where the machine keeps its fonts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vantage {

enum class TextWeight : std::uint8_t { regular, bold };

/// Font files to try, best first: VANTAGE_FONT, then DejaVu Sans or what comes close, then one for what that lacks.
std::vector<std::string> installed_fonts(TextWeight weight);

}  // namespace vantage
