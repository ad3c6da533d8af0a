#include "runtime/base/log.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/base/options.h"
#include "runtime/base/utf8.h"

namespace vantage {
namespace {

struct LevelName {
    const char* name;
    const char* colour;  // bold red, bold yellow, nothing, grey
};
constexpr std::array<LevelName, 4> level_names{
    {{"error", "\033[1;31m"}, {"warning", "\033[1;33m"}, {"info", ""}, {"debug", "\033[2m"}}};  // by number

constexpr int stderr_descriptor = 2;
std::atomic<bool> strict_mode{false};

/// The message as one line that a terminal shows as it is. The end of a long message is left out.
std::string shown(std::string_view message) {
    constexpr std::size_t max_bytes = 4000;
    if (message.size() <= max_bytes) return escape_controls(message);
    std::size_t end = max_bytes;  // at a character's beginning
    while (end > max_bytes - 4 && (static_cast<unsigned char>(message[end]) & 0xC0) == 0x80) --end;
    return escape_controls(message.substr(0, end)) + "…";
}

void write_to_stderr(LogLevel level, const std::string& message) {
    const LevelName& name = at(level_names, level);
    const bool colour = *name.colour != '\0' && colour_wanted(stderr_descriptor);
    // One call for one message, so that lines of several threads do not mix.
    std::fprintf(stderr, "vantage: %s%s:%s %s\n", colour ? name.colour : "", name.name, colour ? "\033[0m" : "",
                 shown(message).c_str());
}

LogLevel level_from_environment() {
    const std::optional<std::string> wish = environment("VANTAGE_LOG");
    if (!wish) return LogLevel::warning;
    const auto* const found = std::ranges::find(level_names, *wish, &LevelName::name);
    if (found != level_names.end()) return static_cast<LogLevel>(found - level_names.begin());
    // Not an exception: a message must never be the reason that a program fails.
    write_to_stderr(LogLevel::warning,
                    "VANTAGE_LOG=" + *wish + " is no level; using warning (there are error, warning, info, debug)");
    return LogLevel::warning;
}

std::atomic<LogLevel>& current_level() {
    static std::atomic<LogLevel> level{level_from_environment()};
    return level;
}

struct Sink {
    std::mutex mutex;
    LogSink function;
};
Sink& current_sink() {
    static Sink sink;
    return sink;
}

}  // namespace

void set_log_level(LogLevel level) { current_level() = level; }

LogLevel log_level() { return current_level(); }

void set_log(LogSink sink) {
    Sink& current = current_sink();
    const std::lock_guard lock(current.mutex);
    current.function = std::move(sink);
}

void internal::log_message(LogLevel level, const std::string& message) {
    if (level > log_level()) return;
    // The sink is called outside the lock: one that logs, or is replaced meanwhile, must not hang.
    Sink& current = current_sink();
    LogSink function;
    {
        const std::lock_guard lock(current.mutex);
        function = current.function;
    }
    if (function)
        function(level, message);
    else
        write_to_stderr(level, message);
}

void internal::set_strict(bool strict) { strict_mode = strict; }

void internal::fall_back(const std::string& message) {
    if (strict_mode) throw unsupported_error(message + " (--strict does not allow it)");
    log(LogLevel::warning, "{}", message);
}

}  // namespace vantage
