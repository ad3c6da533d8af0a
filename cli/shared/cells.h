// Texts of table cells: shares, and padding to a width in columns of the terminal.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "cli/shared/terminal_page.h"
#include "runtime/base/format.h"
#include "runtime/picture/attention_scale.h"
#include "runtime/picture/shown_text.h"

namespace vantage::cli {

/// A dash instead of the text of a value that is not defined (NaN).
inline std::string if_defined(double value, const std::string& text) { return std::isnan(value) ? "–" : text; }

/// A share from 0 to 1: ".07", "1", or a dash if it is not defined.
inline std::string share_text(double share) {
    return share >= 0.995 ? "1" : if_defined(share, format(".{:02.0f}", 100 * share));
}

/// Spaces that fill `text` up to `width` columns.
inline std::string padding(const std::string& text, int width) {
    return std::string(static_cast<std::size_t>(std::max(0, width - column_width(text))), ' ');
}
inline std::string align_left(const std::string& text, int width) { return text + padding(text, width); }
inline std::string align_right(const std::string& text, int width) { return padding(text, width) + text; }

/// A cell on the colour of its share in the heat maps; without a colour if the share is not defined.
inline std::string on_share(const Page& page, double share, const std::string& cell) {
    if (std::isnan(share)) return cell;
    return page.on(colour_at(ColourMap::magma, position_of(static_cast<float>(share), 1, AttentionScale::square_root)),
                   cell);
}

}  // namespace vantage::cli
