// Messages to stderr. Silence is success: the default level shows warnings and errors only.
#pragma once

#include <functional>
#include <string>

namespace vantage {

enum class LogLevel { error, warning, info, debug };

/// Highest level shown; from VANTAGE_LOG (error, warning, info, debug), -v and -q.
void set_log_level(LogLevel level);
LogLevel log_level();
/// Where messages go; the default writes "vantage: warning: …" to stderr. An empty function restores it.
void set_log_sink(std::function<void(LogLevel, const std::string&)> sink);

void log(LogLevel level, const char* format, ...) __attribute__((format(printf, 2, 3)));

/// printf into a std::string.
std::string format(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace vantage
