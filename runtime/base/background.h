// Work that goes on in a thread of its own until somebody needs its result.
#pragma once

#include <functional>
#include <future>
#include <stop_token>
#include <thread>

namespace vantage {

class Background {
public:
    /// Begins `work`, which ends early when the token asks it to. Where the system gives no thread it is done here and now.
    explicit Background(const std::function<void(std::stop_token)>& work);
    /// Waits until the work is done, and throws what it threw: every time. For any thread.
    void wait() const { done_.get(); }

private:
    std::shared_future<void> done_;
    std::jthread thread_;  // asked to stop, and waited for, before all else goes
};

}  // namespace vantage
