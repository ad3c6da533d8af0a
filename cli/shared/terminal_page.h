// Text for stdout with emphasis and colours, if the terminal supports them.
#pragma once

#include <string>

#include "runtime/base/format.h"
#include "runtime/picture/colour_map.h"
#include "runtime/picture/picture_style.h"
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

private:
    std::string with(const std::string& code, const std::string& text) const {
        return colours_ == TerminalColours::none || text.empty() ? text : "\033[" + code + "m" + text + "\033[0m";
    }
    TerminalColours colours_ = terminal_colours(stdout_fd);
};

}  // namespace vantage::cli
