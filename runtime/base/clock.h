// The host's clock.
#pragma once

#include <chrono>

#include "runtime/base/internal.h"

namespace vantage::internal {

/// Seconds of a clock that never goes back. Only differences have a meaning.
inline double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace vantage::internal
