// Snapshots of a model's attention to one text while the model learns. Viewers see one of them.
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

struct TrainingSnapshot {
    std::int64_t step = 0;  ///< number of completed training steps
    double loss = NAN;      ///< of the last of these steps; NaN before the first
};

/// The snapshots that are kept in host memory: queries, keys, values, log-sum-exps and learned biases of all layers.
///
/// Threads: the training thread adds snapshots, the viewer's thread shows them.
class TrainingSnapshots : NotCopied {
public:
    /// The session has read the text and records the attention of all layers, else this throws usage. It must outlive
    /// the snapshots. `on_snapshot` is called after each one, to wake a window. The maximum size of all snapshots is
    /// `max_bytes`, but at least two are kept. If it is reached, every second snapshot is dropped.
    explicit TrainingSnapshots(Session& session, std::function<void()> on_snapshot = {},
                               std::uint64_t max_bytes = 1u << 29);

    // ---- the training thread
    /// Copies the rows of the session, which has read the text again.
    void add(const TrainingSnapshot& snapshot);
    /// Training has ended.
    void finish();
    /// True after close(): add() does nothing.
    bool closed() const { return closed_; }

    // ---- the viewer's thread
    void close() { closed_ = true; }
    LiveModel& live() { return live_; }
    /// All snapshots, by step.
    std::vector<TrainingSnapshot> all() const;
    /// Whether `show(step)` would change what viewers see.
    bool is_news(std::optional<std::int64_t> step) const;
    /// Shows the last snapshot up to `step`; without a step, the newest. Returns whether that changed what viewers see.
    /// Waits for the device. Call it between two pictures.
    bool show(std::optional<std::int64_t> step);
    /// The snapshot that viewers see.
    TrainingSnapshot shown() const { return shown_ ? TrainingSnapshot(*shown_) : TrainingSnapshot(); }

private:
    struct Kept : TrainingSnapshot {
        std::vector<std::byte> rows;
    };
    /// One tensor of a layer: the session's buffer, the copy that viewers read, and its place in Kept::rows.
    struct Copied {
        gpu::Buffer from, to;
        std::size_t offset = 0, bytes = 0;
    };

    TapSource copy_of(const TapSource& source);
    /// What `show(step)` would show.
    std::pair<std::shared_ptr<const Kept>, Activity> wanted(std::optional<std::int64_t> step) const;

    LiveModel live_;
    gpu::DeviceState& device_;
    std::function<void()> on_snapshot_;
    std::vector<Copied> copied_;
    std::size_t bytes_each_ = 0, max_kept_;

    std::atomic<bool> closed_ = false;
    mutable std::mutex mutex_;
    std::vector<std::shared_ptr<const Kept>> kept_;
    std::int64_t added_ = 0, every_ = 1;  ///< of the added ones every so many are kept, and the newest
    bool finished_ = false;

    std::shared_ptr<const Kept> shown_;
    Activity shown_activity_ = Activity::idle;
};

}  // namespace vantage::view
