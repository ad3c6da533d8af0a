// Messages of the library: warnings about fallbacks, and more on request. Errors are exceptions and not logged.
//
// Threads: any, for all functions. The sink is called in the thread that has something to say.
// Errors: nothing here throws, and a sink must not.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace vantage {

enum class LogLevel : std::uint8_t { error, warning, info, debug };

/// Receives one message, a line without an end.
using LogSink = std::function<void(LogLevel level, const std::string& text)>;
/// Where messages go: set_log([](auto level, auto& text) { … }), or set_log([](auto, auto&) {}) to mute them. The
/// default, and an empty function, write "vantage: warning: …" to stderr. The sink is called from any thread that works
/// with Vantage, also from several at once. Thread-safe.
void set_log(LogSink sink);

/// The highest level that is passed on. The default is VANTAGE_LOG (error, warning, info, debug), else warning.
/// Thread-safe.
void set_log_level(LogLevel level);
LogLevel log_level();

}  // namespace vantage
