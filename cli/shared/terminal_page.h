// Text for stdout with emphasis and colours, if the terminal supports them; texts of table cells.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "cli/shared/output.h"
#include "runtime/base/terminal.h"
#include "runtime/picture/attention_scale.h"
#include "runtime/picture/colour_map.h"
#include "runtime/picture/picture_style.h"
#include "runtime/picture/shown_text.h"
#include "runtime/picture/terminal_heatmap.h"

namespace vantage::cli {

class Page {
public:
    std::string bold(const std::string& text) const { return with("1", text); }
    std::string dim(const std::string& text) const { return with("2", text); }
    /// Highlighted text.
    std::string accent(const std::string& text) const {
        if (colours_ != TerminalColours::full) return with("36", text);
        return with(format("38;2;{};{};{}", style::accent.r, style::accent.g, style::accent.b), text);
    }
    /// Text on a background colour, with readable letters. Without 24-bit colours: the text alone.
    std::string on(Rgb background, const std::string& text) const {
        if (colours_ != TerminalColours::full) return text;
        const Rgb letters = lightness(background) > 55.0f ? style::dark_number : style::bright_number;
        return with(format("48;2;{};{};{};38;2;{};{};{}", background.r, background.g, background.b, letters.r,
                           letters.g, letters.b),
                    text);
    }
    TerminalColours colours() const { return colours_; }

    static constexpr int stdout_fd = 1;
    /// Columns for a line; a line for a file or another program has as many as it needs.
    static int columns() { return is_terminal(stdout_fd) ? terminal_columns(stdout_fd) : unlimited; }
    static constexpr int unlimited = 100'000;

private:
    std::string with(const std::string& code, const std::string& text) const {
        return colours_ == TerminalColours::none || text.empty() ? text : "\033[" + code + "m" + text + "\033[0m";
    }
    TerminalColours colours_ = terminal_colours(stdout_fd);
};

/// A dash instead of the text of a value that is not defined (NaN).
inline std::string if_defined(double value, const std::string& text) { return std::isnan(value) ? "–" : text; }

/// A share from 0 to 1: ".07", "1", or a dash if it is not defined.
inline std::string share_text(double share) {
    return share >= 0.995 ? "1" : if_defined(share, format(".{:02.0f}", 100 * share));
}

/// A large number: "1.09 M".
inline std::string count_text(double value) {
    const char* units[] = {"", " k", " M", " G", " T", " P"};
    int unit = 0;
    for (; value >= 1000 && unit < 5; ++unit) value /= 1000;
    const int decimals = unit == 0 ? 0 : value < 10 ? 2 : value < 100 ? 1 : 0;
    return format("{:.{}f}{}", value, decimals, units[unit]);
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
