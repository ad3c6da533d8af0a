// The runtime's side of vantage/log.h, and fallbacks, so that none is silent.
#pragma once

#include <string>

#include "runtime/base/format.h"
#include "vantage/log.h"

namespace vantage::internal {

void log_message(LogLevel level, const std::string& message);

/// Shows `format(text, arguments…)`, if messages of this level are shown.
template <class... Arguments>
void log(LogLevel level, FormatText<std::type_identity_t<Arguments>...> text, const Arguments&... arguments) {
    if (level <= log_level()) log_message(level, format(text, arguments...));
}

/// Logs a warning. `message` is one line: what is used instead, and why. After `set_strict(true)` (--strict,
/// VANTAGE_STRICT) it throws an Error of kind unsupported instead.
void fall_back(const std::string& message);
void set_strict(bool strict);

}  // namespace vantage::internal
