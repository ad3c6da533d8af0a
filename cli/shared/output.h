// Text and JSON on stdout.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "runtime/base/json.h"
#include "runtime/base/terminal.h"
#include "runtime/base/utf8.h"

namespace vantage::cli {

/// What would control a terminal becomes escapes, but for the styles of Page: ESC [ numbers m.
inline std::string with_styles_only(const std::string& text) {
    std::string shown;
    for (std::size_t from = 0; from < text.size();) {
        const std::size_t style = std::min(text.find("\x1b[", from), text.size());
        shown += escape_controls(text.substr(from, style - from), "\n\t");
        if (style == text.size()) break;
        const std::size_t end = text.find_first_not_of("0123456789;", style + 2);
        const bool is_style = end != text.npos && text[end] == 'm';
        from = is_style ? end + 1 : style + 1;
        shown += is_style ? text.substr(style, from - style) : escape_controls("\x1b");
    }
    return shown;
}

/// Prints a line: format() of the arguments. On a terminal, what would control it is escaped.
template <class... Arguments>
void print_line(FormatText<std::type_identity_t<Arguments>...> text, const Arguments&... arguments) {
    std::string line = format(text, arguments...) + "\n";
    if (is_terminal(fileno(stdout))) line = with_styles_only(line);
    std::fwrite(line.data(), 1, line.size(), stdout);
}

/// Writes text (any bytes) to stdout and flushes. On a terminal, what would control it is escaped, because the text is
/// a model's. Throws bad_file if that fails.
inline void write_out(const std::string& text) {
    static const bool terminal = is_terminal(fileno(stdout));
    const std::string shown = terminal ? escape_controls(text, "\n\t") : text;
    if (std::fwrite(shown.data(), 1, shown.size(), stdout) != shown.size() || std::fflush(stdout) != 0)
        throw bad_file_error("cannot write to stdout: {}", std::strerror(errno));
}

/// The text of a document, with U+FFFD for invalid UTF-8, and escapes for what would control a terminal. `indent` -1: on
/// one line.
template <class AnyJson>
std::string json_text(const AnyJson& json, int indent = 2) {
    return escape_controls_in_json(json.dump(indent, ' ', false, AnyJson::error_handler_t::replace));
}
inline void write_json(const Json& json) { write_out(json_text(json) + "\n"); }

/// An array of what `entry` makes of each element.
template <class Range, class Entry>
Json json_list(const Range& range, const Entry& entry) {
    Json list = Json::array();
    for (const auto& one : range) list.push_back(entry(one));
    return list;
}

}  // namespace vantage::cli
