// Work in a thread of its own.
#pragma once

#include <functional>
#include <future>
#include <stop_token>
#include <thread>

#include "runtime/base/internal.h"

namespace vantage::internal {

class Background {
public:
    /// Starts `work`, which should end early when the token requests it. If the system has no more threads, the
    /// constructor does the work.
    explicit Background(const std::function<void(std::stop_token)>& work);
    /// Waits until the work is done. Each call throws what the work threw. Thread-safe.
    void wait() const { done_.get(); }

private:
    std::shared_future<void> done_;
    std::jthread thread_;  // last, so that it is stopped and joined first
};

}  // namespace vantage::internal
