// Limits that hold on a machine of any speed and load: of waiting without progress, and of work in CPU time.
#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace vantage::test {

/// Ends a loop that waits in vain. It does not limit how long a wait takes, only how long nothing changes.
class Watchdog {
public:
    static constexpr double limit = 300;  // seconds

    explicit Watchdog(std::string goal) : goal_(std::move(goal)) {}
    /// Call it in each turn with numbers that change while there is progress. Throws when all of them have been the
    /// same for five minutes.
    template <class... Numbers>
    void look(Numbers... numbers) {
        const std::vector<std::uint64_t> progress{static_cast<std::uint64_t>(numbers)...};
        const Clock::time_point now = Clock::now();
        // A turn counts for at most a second: time in which the whole machine stood still is not a stall.
        idle_ = progress == progress_ ? idle_ + std::min(std::chrono::duration<double>(now - last_).count(), 1.0) : 0;
        last_ = now;
        progress_ = progress;
        if (idle_ > limit) throw std::runtime_error("no progress for five minutes while waiting for " + goal_);
    }

private:
    using Clock = std::chrono::steady_clock;
    std::string goal_;
    std::vector<std::uint64_t> progress_;
    Clock::time_point last_ = Clock::now();
    double idle_ = 0;
};

/// CPU time of the calling thread. Unlike wall time it does not grow while other programs run.
inline double cpu_seconds() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace vantage::test
