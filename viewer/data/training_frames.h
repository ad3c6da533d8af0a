// A model's attention to one text while the model learns: copies of what its heads were after some of the steps, one of
// which viewers see.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/gpu/buffer.h"
#include "viewer/data/live_model.h"

namespace vantage::view {

/// Two threads use it: the one that trains adds frames, the one of the viewer shows them.
/// A frame has the queries, keys, values and log-sum-exps of all layers, and learned biases, in memory of the host.
class TrainingFrames : NotCopied {
public:
    struct Snapshot {
        std::int64_t step = 0;  ///< steps that the model has learned for
        double loss = NAN;      ///< of the last of them; NaN: none
    };

    /// The session has read the text, and records the attention of all layers, else this throws usage. It lives longer.
    /// `on_frame` is called after each frame, to wake a window. Frames take at most `max_bytes`, but there are at least
    /// two: where more do not fit, every other one is dropped.
    explicit TrainingFrames(Session& session, std::function<void()> on_frame = {}, std::uint64_t max_bytes = 1u << 29);

    // ---- the thread of the session
    /// Keeps what the session has read, which is the text again.
    void add(const Snapshot& snapshot);
    /// The last step is done.
    void finish();
    /// Whether nobody looks any more: then no frame is kept.
    bool closed() const { return closed_; }

    // ---- the thread of the viewer
    void close() { closed_ = true; }
    LiveModel& live() { return live_; }
    /// Of all frames, by step.
    std::vector<Snapshot> snapshots() const;
    /// Whether `show` would change what viewers see.
    bool is_news(std::optional<std::int64_t> step) const;
    /// Lets viewers see the last frame that is not after `step`, by default the newest. Returns whether that changed
    /// what they see. None of their work may be in the making; what is on the device is waited for.
    bool show(std::optional<std::int64_t> step);
    /// What viewers see.
    const Snapshot& shown() const { return shown_; }

private:
    struct Frame {
        Snapshot snapshot;
        std::vector<std::byte> bytes;
    };
    /// Rows of a layer: the session's, their copy, and where they are in a frame.
    struct Copied {
        gpu::Buffer from, to;
        std::size_t offset = 0, bytes = 0;
    };

    TapSource copy_of(const TapSource& source);
    /// What `show` would let viewers see.
    std::pair<std::shared_ptr<const Frame>, Activity> wanted(std::optional<std::int64_t> step) const;

    LiveModel live_;
    gpu::DeviceState& device_;
    std::function<void()> on_frame_;
    std::vector<Copied> copied_;
    std::size_t frame_bytes_ = 0, max_frames_;

    std::atomic<bool> closed_ = false;
    mutable std::mutex mutex_;
    std::vector<std::shared_ptr<const Frame>> frames_;
    std::int64_t added_ = 0, every_ = 1;  ///< every so many of the added frames stay; the newest is always there
    bool finished_ = false;

    std::shared_ptr<const Frame> shown_frame_;
    Snapshot shown_;
    Activity shown_activity_ = Activity::idle;
};

}  // namespace vantage::view
