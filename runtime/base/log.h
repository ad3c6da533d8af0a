// Messages to stderr. Silence is success: the default level shows warnings and errors only.
#pragma once

#include <functional>
#include <string>

#include "runtime/base/format.h"

namespace vantage {

enum class LogLevel { error, warning, info, debug };

/// Highest level shown; from VANTAGE_LOG (error, warning, info, debug), -v and -q.
void set_log_level(LogLevel level);
LogLevel log_level();
/// Where messages go; the default writes "vantage: warning: …" to stderr. An empty function restores it.
void set_log_sink(std::function<void(LogLevel, const std::string&)> sink);

void log_message(LogLevel level, const std::string& message);

/// Shows `format(text, arguments…)`, if messages of this level are shown.
template <class... Arguments>
void log(LogLevel level, FormatText<std::type_identity_t<Arguments>...> text, const Arguments&... arguments) {
    if (level <= log_level()) log_message(level, format(text, arguments...));
}

}  // namespace vantage
