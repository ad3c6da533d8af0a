#include "runtime/base/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <ctime>

#include "vantage/error.h"

namespace vantage::internal {
namespace {

std::atomic<int> interrupt_signal{0};
std::atomic<std::int64_t> interrupt_moment{0};  // in milliseconds
std::atomic<bool> interrupt_ends{false};
thread_local const std::atomic<bool>* own_flag = nullptr;  // of the InterruptScope
thread_local bool deferred = false;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free,
              "a signal handler can access nothing else");
constexpr std::int64_t one_signal = 100;  // milliseconds: faster than anybody presses Ctrl-C again

std::int64_t milliseconds_now() {  // may be called in a signal handler
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

// `timeout` sends each signal twice, to the program and to its process group. A closed pipe may be written to more than
// once before the program ends.
extern "C" void on_interrupt(int signal) {
    const std::int64_t now = milliseconds_now();
    const bool first = interrupt_signal.exchange(signal) == 0;
    std::int64_t began = 0;  // another signal's handler may not have come further than this one
    if (first)
        interrupt_moment = now;
    else if (!interrupt_moment.compare_exchange_strong(began, now) && signal != SIGPIPE && now - began >= one_signal)
        ::_exit(130);
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
    if (interrupt_ends || interrupt_signal != expected) return false;
    interrupt_moment = 0;
    return interrupt_signal.compare_exchange_strong(expected, 0);
}

bool ending() {
    const int signal = interrupt_signal.load(std::memory_order_relaxed);
    return signal != 0 && (signal != SIGINT || interrupt_ends);
}

void let_interrupt_end(bool ends) { interrupt_ends = ends; }

}  // namespace vantage::internal
