// Which head to look at when nobody has said it: the most telling one of the prompt (runtime/inspect/telling_head.h).
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "viewer/data/live_model.h"

namespace vantage::view {

/// Asks the model's thread once a run, when the prompt has been read; the answer comes some pictures later.
class FocusFinder : public std::enable_shared_from_this<FocusFinder> {
public:
    void look(LiveModel& live, const Version& version);
    /// Looks, and waits for the answer.
    void wait(LiveModel& live, const Version& version);
    std::optional<HeadPlace> found() const;

private:
    void answer(std::optional<HeadPlace> head);
    mutable std::mutex mutex_;
    std::condition_variable answered_;
    std::optional<HeadPlace> found_;
    std::uint64_t asked_run_ = 0;
    bool asked_ = false, waiting_ = false;
};

}  // namespace vantage::view
