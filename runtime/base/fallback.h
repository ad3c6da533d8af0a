// Work never falls back to something slower or lesser in silence.
#pragma once

#include <string>

namespace vantage {

/// One warning line saying what was done instead and why; with `set_strict(true)` (--strict, VANTAGE_STRICT) an Error of
/// kind unsupported instead.
void fall_back(const std::string& message);
void set_strict(bool strict);

}  // namespace vantage
