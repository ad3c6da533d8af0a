// A few threads for work that would hold up the connections: reading JSON, templates, tokenizing.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/base/internal.h"

namespace vantage::serve {

/// Threads: any. Work must not throw. Work that waits when the pool ends is dropped.
class WorkerPool : internal::NotCopied {
public:
    WorkerPool(std::size_t threads, std::size_t max_waiting) : max_waiting_(max_waiting) {
        for (std::size_t i = 0; i < threads; ++i)
            threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
    }
    /// False if too much waits.
    bool post(std::function<void()> work) {
        {
            const std::lock_guard lock(mutex_);
            if (waiting_.size() >= max_waiting_) return false;
            waiting_.push_back(std::move(work));
        }
        changed_.notify_one();
        return true;
    }

private:
    void work(const std::stop_token& stop) {
        while (true) {
            std::function<void()> next;
            {
                std::unique_lock lock(mutex_);
                if (!changed_.wait(lock, stop, [this] { return !waiting_.empty(); }) || stop.stop_requested()) return;
                next = std::move(waiting_.front());
                waiting_.pop_front();
            }
            next();
        }
    }

    std::size_t max_waiting_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<std::function<void()>> waiting_;
    std::vector<std::jthread> threads_;  // last: they use all the others
};

}  // namespace vantage::serve
