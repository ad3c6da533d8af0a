#include "runtime/base/interrupt.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <thread>
#include <utility>

#include "vantage/error.h"

namespace vantage::internal {
namespace {

std::atomic<int> interrupt_signal{0};
std::atomic<std::int64_t> interrupt_moment{0};  // in milliseconds
std::atomic<bool> interrupt_ends{false};
std::atomic<bool> noticed{false};       // by something that looked at the flag
std::atomic<bool> ends_at_once{false};  // after a second signal
std::atomic<bool> watched{false};       // by a thread, which cleans up before the end
std::atomic<int> end_deferred{0};       // objects of EndDeferred; below 0: the process is ending
sem_t signals;
void (*clean_up_at_end)() noexcept = nullptr;
thread_local const std::atomic<bool>* own_flag = nullptr;  // of the InterruptScope
thread_local bool deferred = false;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free,
              "a signal handler can access nothing else");
constexpr std::int64_t longest_clean_up = 2000;  // milliseconds after a second signal
constexpr std::int64_t one_signal = 100;         // milliseconds: faster than anybody presses Ctrl-C again

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
    else if (!interrupt_moment.compare_exchange_strong(began, now) && signal != SIGPIPE && now - began >= one_signal) {
        ends_at_once = true;
        if (watched) ::sem_post(&signals);
        // What this thread was about to do ends here. Cleaning up may need a lock that it holds: there is a limit.
        while (watched && milliseconds_now() - now < longest_clean_up) ::poll(nullptr, 0, 20);
        ::_exit(130);
    }
    const int error = errno;
    ::sem_post(&signals);
    errno = error;
}
extern "C" void ignore_signal(int) {}

// How long a signal may go unnoticed, and how long the end may take where one thread has noticed it but another has not.
constexpr std::int64_t longest_unnoticed = 400, longest_end = 2000;  // milliseconds
constexpr std::chrono::milliseconds pause_between_looks(20);
constexpr int process_ends = -1'000'000;

extern "C" void* watch_signals(void*) {
    for (;;) {
        while (::sem_wait(&signals) != 0) continue;
        for (; ending() || ends_at_once; std::this_thread::sleep_for(pause_between_looks)) {
            int none = 0;
            const std::int64_t since = milliseconds_now() - interrupt_moment;
            if (!ends_at_once && since < (noticed ? longest_end : longest_unnoticed)) continue;
            if (ends_at_once)
                end_deferred.exchange(process_ends);
            else if (!end_deferred.compare_exchange_strong(none, process_ends))
                continue;
            if (clean_up_at_end != nullptr) clean_up_at_end();
            ::_exit(130);
        }
    }
}

// The new thread blocks all signals, so that they still interrupt the waiting calls of the others. Without memory for a
// thread there is none.
void start_watching() {
    static bool started = false;
    if (std::exchange(started, true)) return;
    ::sem_init(&signals, 0, 0);
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread{};
    watched = ::pthread_create(&thread, nullptr, watch_signals, nullptr) == 0;
    if (watched) ::pthread_detach(thread);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

void catch_interrupts(void (*clean_up)() noexcept) {
    clean_up_at_end = clean_up;
    start_watching();
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

bool interrupted() {
    if (deferred || interrupt_signal.load(std::memory_order_relaxed) == 0) return false;
    noticed = true;
    return true;
}

EndDeferred::EndDeferred() {
    while (end_deferred.fetch_add(1) < 0) ::pause();  // nothing begins that would be left half done
}
EndDeferred::~EndDeferred() { --end_deferred; }

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
    interrupt_moment = 0, noticed = false;
    return interrupt_signal.compare_exchange_strong(expected, 0);
}

bool ending() {
    const int signal = interrupt_signal.load(std::memory_order_relaxed);
    return signal != 0 && (signal != SIGINT || interrupt_ends);
}

void let_interrupt_end(bool ends) {
    interrupt_ends = ends;
    if (ending()) ::sem_post(&signals);  // by one that did not end it before
}

}  // namespace vantage::internal
