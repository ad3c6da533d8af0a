// The attention map of one head as text for a terminal.
#pragma once

#include <string>

#include "runtime/picture/heatmap.h"

namespace vantage::internal {

/// Colour support of a terminal. `none`: no escape codes, for pipes, files and NO_COLOR.
enum class TerminalColours : std::uint8_t { none, palette, full };
/// Decided by NO_COLOR, TERM, COLORTERM and whether `fd` is a terminal.
TerminalColours terminal_colours(int fd);

/// Lines of at most `columns` columns (minimum 24) that end in '\n': title, key labels, one line per query, and a
/// legend. If there are too many tokens, the last ones are shown; a column "…" then holds the sum of the weights of the
/// others, so that rows still sum to 1.
std::string terminal_heatmap(const HeatmapPicture& picture, int columns, TerminalColours colours);

}  // namespace vantage::internal
