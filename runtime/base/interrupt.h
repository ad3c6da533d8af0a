// Ctrl-C and other signals that end the program.
#pragma once

#include <atomic>

#include "runtime/base/internal.h"

namespace vantage::internal {

/// From now on SIGINT (Ctrl-C), SIGTERM, SIGHUP, SIGQUIT and SIGPIPE only set a flag, which work in progress checks, so
/// that no half-written file stays. SIGXFSZ is ignored.
///
/// A thread ends the process with exit code 130, after `clean_up`. It does so at once after a second signal that
/// comes 0.1 s later or more; cleaning up may take 2 s then. (Without memory for a thread there is none, and the
/// second signal ends the process.) After one signal that ends the program (ending()) it does so 0.4 s later if
/// nothing has checked the flag by then, else 2 s later; it waits while an EndDeferred exists.
void catch_interrupts(void (*clean_up)() noexcept = nullptr);
bool interrupted();
/// Throws an Error of kind interrupted when the flag is set, or that of this thread's InterruptScope.
void throw_if_interrupted();

/// While it lives, work of this thread is interrupted by a flag of its own, too. One at a time in a thread.
class InterruptScope : NotCopied {
public:
    explicit InterruptScope(const std::atomic<bool>& flag);
    ~InterruptScope();
};
/// While one exists, in any thread, a first signal ends the process only where work checks the flag. For what would
/// leave something behind, such as a temporary file, and for results that are written after an interruption.
class EndDeferred : NotCopied {
public:
    EndDeferred();
    ~EndDeferred();
};
/// While it lives, this thread is not interrupted: for work that must be finished, such as a checkpoint. A second
/// signal still ends the process at once.
class InterruptsDeferred : NotCopied {
public:
    InterruptsDeferred();
    ~InterruptsDeferred();

private:
    EndDeferred end_;
    bool before_;
};
/// Clears the flag after Ctrl-C, so that work can continue, and returns true. Returns false and changes nothing when
/// there was no signal, another one, or Ctrl-C ends the program (let_interrupt_end).
bool take_interrupt();
/// Whether a signal ends the program for certain: then nothing waits for what still runs on the device. Ctrl-C does
/// only after `let_interrupt_end(true)`, because work may continue after it.
bool ending();
void let_interrupt_end(bool ends);

}  // namespace vantage::internal
