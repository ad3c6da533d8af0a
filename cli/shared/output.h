// Text and JSON on stdout.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "runtime/base/json.h"
#include "runtime/base/terminal.h"
#include "runtime/base/utf8.h"

namespace vantage::cli {

/// Prints a line: format() of the arguments.
template <class... Arguments>
void print_line(FormatText<std::type_identity_t<Arguments>...> text, const Arguments&... arguments) {
    const std::string line = format(text, arguments...) + "\n";
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
