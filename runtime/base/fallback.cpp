#include "runtime/base/fallback.h"

#include <atomic>

#include "runtime/base/errors.h"
#include "runtime/base/log.h"

namespace vantage::internal {

namespace {
std::atomic<bool> strict_mode{false};
}

void set_strict(bool strict) { strict_mode = strict; }

void fall_back(const std::string& message) {
    if (strict_mode) throw unsupported_error(message + " (--strict does not allow it)");
    log(LogLevel::warning, "{}", message);
}

}  // namespace vantage::internal
