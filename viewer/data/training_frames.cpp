#include "viewer/data/training_frames.h"

#include <algorithm>
#include <cstring>

#include "runtime/gpu/queue.h"
#include "runtime/gpu/transfer.h"

namespace vantage::view {

TrainingFrames::TrainingFrames(Session& session, std::function<void()> on_frame, std::uint64_t max_bytes)
    : live_(session, on_frame), device_(session.model().device().state()), on_frame_(std::move(on_frame)) {
    live_.publish();
    live_.show_copies([this](const TapSource& source) { return copy_of(source); });
    max_frames_ = std::max<std::size_t>(2, max_bytes / std::max<std::size_t>(frame_bytes_, 1));
}

TapSource TrainingFrames::copy_of(const TapSource& source) {
    TapSource copy = source;
    for (TapSource::Data* data : {&copy.q, &copy.k, &copy.v, &copy.lse, &copy.position_bias}) {
        if (!data->buffer) continue;
        Copied one{.from = data->buffer, .to = {}, .offset = frame_bytes_, .bytes = data->buffer.requested_bytes()};
        data->buffer = one.to = gpu::allocate(device_, one.bytes, gpu::MemoryKind::shared, "view.training_frame");
        frame_bytes_ += one.bytes;
        copied_.push_back(std::move(one));
    }
    return copy;
}

void TrainingFrames::add(const Snapshot& snapshot) {
    if (closed()) return;
    auto frame = std::make_shared<Frame>(Frame{snapshot, std::vector<std::byte>(frame_bytes_)});
    for (const Copied& one : copied_)
        gpu::download(device_, one.from, 0, std::span(frame->bytes).subspan(one.offset, one.bytes));
    {
        const std::lock_guard lock(mutex_);
        if (added_ > 0 && (added_ - 1) % every_ != 0) frames_.pop_back();  // it stayed only as the newest
        if (frames_.size() == max_frames_) {
            every_ *= 2;
            std::size_t number = 0;
            std::erase_if(frames_, [&](const auto&) { return number++ % 2 != 0; });
        }
        frames_.push_back(std::move(frame));
        ++added_;
    }
    live_.serve();
    if (on_frame_) on_frame_();
}

void TrainingFrames::finish() {
    {
        const std::lock_guard lock(mutex_);
        finished_ = true;
    }
    live_.serve();
    if (on_frame_) on_frame_();
}

std::vector<TrainingFrames::Snapshot> TrainingFrames::snapshots() const {
    const std::lock_guard lock(mutex_);
    std::vector<Snapshot> snapshots;
    for (const auto& frame : frames_) snapshots.push_back(frame->snapshot);
    return snapshots;
}

std::pair<std::shared_ptr<const TrainingFrames::Frame>, Activity> TrainingFrames::wanted(
    std::optional<std::int64_t> step) const {
    const std::lock_guard lock(mutex_);
    const Activity activity = finished_ ? Activity::ended : Activity::learning;
    if (frames_.empty()) return {nullptr, activity};
    if (!step) return {frames_.back(), activity};
    const auto later = std::ranges::upper_bound(frames_, *step, {}, [](const auto& one) { return one->snapshot.step; });
    return {later == frames_.begin() ? frames_.front() : *std::prev(later), activity};
}

bool TrainingFrames::is_news(std::optional<std::int64_t> step) const {
    const auto [frame, activity] = wanted(step);
    return frame != nullptr && (frame != shown_frame_ || activity != shown_activity_);
}

bool TrainingFrames::show(std::optional<std::int64_t> step) {
    if (!is_news(step)) return false;
    const auto [frame, activity] = wanted(step);
    gpu::wait_idle(device_);  // what reads the copies
    for (const Copied& one : copied_) std::memcpy(one.to.mapped(), frame->bytes.data() + one.offset, one.bytes);
    shown_frame_ = frame, shown_ = frame->snapshot, shown_activity_ = activity;
    live_.publish_copies(activity);
    return true;
}

}  // namespace vantage::view
