// Reports fallbacks, so that none is silent.
#pragma once

#include <string>

#include "runtime/base/internal.h"

namespace vantage::internal {

/// Logs a warning. `message` is one line: what is used instead, and why. After `set_strict(true)` (--strict,
/// VANTAGE_STRICT) it throws an Error of kind unsupported instead.
void fall_back(const std::string& message);
void set_strict(bool strict);

}  // namespace vantage::internal
