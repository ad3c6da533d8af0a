// Ctrl-C and SIGTERM.
#pragma once

#include "runtime/base/internal.h"

namespace vantage::internal {

/// From now on Ctrl-C and SIGTERM only set a flag, which work in progress checks. A second signal ends the process at
/// once with exit code 130.
void catch_interrupts();
bool interrupted();
/// Throws an Error of kind interrupted when the flag is set.
void throw_if_interrupted();
/// Clears the flag after Ctrl-C, so that work can continue, and returns true. Returns false and changes nothing when
/// there was no signal or a SIGTERM.
bool take_interrupt();

}  // namespace vantage::internal
