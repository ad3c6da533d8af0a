// The runtime's side of vantage/log.h.
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

}  // namespace vantage::internal
