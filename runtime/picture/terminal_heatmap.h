// The attention of one head in the terminal: the same map as in the pictures, made of characters.
#pragma once

#include <string>

#include "runtime/picture/heatmap.h"

namespace vantage {

/// What a terminal can show. `none` writes no escape codes at all: for pipes, files and NO_COLOR.
enum class TerminalColours : std::uint8_t { none, palette, full };
/// By NO_COLOR, TERM, COLORTERM and whether `fd` is a terminal.
TerminalColours terminal_colours(int fd);

/// Lines of at most `columns` columns (24 at least) that end in '\n': title, keys across, a line for each query, and what
/// the colours or shades mean. Of too many tokens, the last are shown; a column "…" then holds the weights of the keys
/// that are not, so that rows still sum to 1.
std::string terminal_heatmap(const HeatmapPicture& picture, int columns, TerminalColours colours);

}  // namespace vantage
