#include "runtime/base/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

#include "vantage/error.h"

namespace vantage::internal {
namespace {

std::atomic<int> interrupt_signal{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler can access nothing else");

extern "C" void on_interrupt(int signal) {
    if (interrupt_signal.exchange(signal) != 0) ::_exit(130);
}

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
    std::signal(SIGXFSZ, SIG_IGN);  // writing beyond `ulimit -f` is an error of write(2)
}

bool interrupted() { return interrupt_signal.load(std::memory_order_relaxed) != 0; }

void throw_if_interrupted() {
    if (interrupted()) throw Error(ErrorKind::interrupted, "interrupted");
}

bool take_interrupt() {
    int expected = SIGINT;
    return interrupt_signal.compare_exchange_strong(expected, 0);
}

}  // namespace vantage::internal
