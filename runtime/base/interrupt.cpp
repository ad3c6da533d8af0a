#include "runtime/base/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

#include "vantage/error.h"

namespace vantage::internal {
namespace {

std::atomic<int> interrupt_signal{0};
std::atomic<bool> interrupt_ends{false};
thread_local const std::atomic<bool>* own_flag = nullptr;  // of the InterruptScope
thread_local bool deferred = false;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler can access nothing else");

extern "C" void on_interrupt(int signal) {
    // A closed pipe may be written to more than once before the program ends.
    if (interrupt_signal.exchange(signal) != 0 && signal != SIGPIPE) ::_exit(130);
}
extern "C" void ignore_signal(int) {}

}  // namespace

void catch_interrupts() {
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    ::sigemptyset(&action.sa_mask);
    // No SA_RESTART: a read that waits for the user must return.
    for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGPIPE}) ::sigaction(signal, &action, nullptr);
    struct sigaction before {};
    const bool ignored = ::sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler == SIG_IGN;  // by nohup
    if (!ignored) ::sigaction(SIGHUP, &action, nullptr);
    action.sa_handler = ignore_signal;       // not SIG_IGN, which programs that are started would keep
    ::sigaction(SIGXFSZ, &action, nullptr);  // writing beyond `ulimit -f` is an error of write(2)
}

bool interrupted() { return !deferred && interrupt_signal.load(std::memory_order_relaxed) != 0; }

InterruptsDeferred::InterruptsDeferred() : before_(deferred) { deferred = true; }
InterruptsDeferred::~InterruptsDeferred() { deferred = before_; }

InterruptScope::InterruptScope(const std::atomic<bool>& flag) { own_flag = &flag; }
InterruptScope::~InterruptScope() { own_flag = nullptr; }

void throw_if_interrupted() {
    if (interrupted() || (!deferred && own_flag != nullptr && *own_flag))
        throw Error(ErrorKind::interrupted, "interrupted");
}

bool take_interrupt() {
    int expected = SIGINT;
    return !interrupt_ends && interrupt_signal.compare_exchange_strong(expected, 0);
}

bool ending() {
    const int signal = interrupt_signal.load(std::memory_order_relaxed);
    return signal != 0 && (signal != SIGINT || interrupt_ends);
}

void let_interrupt_end(bool ends) { interrupt_ends = ends; }

}  // namespace vantage::internal
