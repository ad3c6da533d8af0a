#include "viewer/data/training_snapshots.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "runtime/gpu/queue.h"
#include "runtime/gpu/transfer.h"

namespace vantage::view {

TrainingSnapshots::TrainingSnapshots(Session& session, std::function<void()> on_snapshot, std::uint64_t max_bytes)
    : live_(session, on_snapshot), device_(session.model().device().state()), on_snapshot_(std::move(on_snapshot)) {
    live_.publish();
    live_.show_copies([this](const TapSource& source) { return copy_of(source); });
    max_kept_ = std::max<std::size_t>(2, max_bytes / std::max<std::size_t>(bytes_each_, 1));
}

TapSource TrainingSnapshots::copy_of(const TapSource& source) {
    TapSource copy = source;
    for (TapSource::Data* data : {&copy.q, &copy.k, &copy.v, &copy.lse, &copy.position_bias}) {
        if (!data->buffer) continue;
        Copied one{.from = data->buffer, .to = {}, .offset = bytes_each_, .bytes = data->buffer.requested_bytes()};
        data->buffer = one.to = gpu::allocate(device_, one.bytes, gpu::MemoryKind::shared, "view.training_snapshot");
        bytes_each_ += one.bytes;
        copied_.push_back(std::move(one));
    }
    return copy;
}

void TrainingSnapshots::add(const TrainingSnapshot& snapshot) {
    if (closed()) return;
    auto kept = std::make_shared<Kept>(Kept{snapshot, std::vector<std::byte>(bytes_each_)});
    for (const Copied& one : copied_)
        gpu::download(device_, one.from, 0, std::span(kept->rows).subspan(one.offset, one.bytes));
    {
        const std::lock_guard lock(mutex_);
        if (added_ > 0 && (added_ - 1) % every_ != 0) kept_.pop_back();  // it was kept only as the newest
        if (kept_.size() == max_kept_) {
            every_ *= 2;
            std::size_t number = 0;
            std::erase_if(kept_, [&](const auto&) { return number++ % 2 != 0; });
        }
        kept_.push_back(std::move(kept));
        ++added_;
    }
    live_.serve();
    if (on_snapshot_) on_snapshot_();
}

void TrainingSnapshots::finish() {
    {
        const std::lock_guard lock(mutex_);
        finished_ = true;
    }
    live_.serve();
    if (on_snapshot_) on_snapshot_();
}

std::vector<TrainingSnapshot> TrainingSnapshots::all() const {
    const std::lock_guard lock(mutex_);
    std::vector<TrainingSnapshot> all;
    for (const auto& one : kept_) all.push_back(*one);
    return all;
}

std::pair<std::shared_ptr<const TrainingSnapshots::Kept>, Activity> TrainingSnapshots::wanted(
    std::optional<std::int64_t> step) const {
    const std::lock_guard lock(mutex_);
    const Activity activity = finished_ ? Activity::ended : Activity::learning;
    if (kept_.empty()) return {nullptr, activity};
    if (!step) return {kept_.back(), activity};
    const auto later = std::ranges::upper_bound(kept_, *step, {}, [](const auto& one) { return one->step; });
    return {later == kept_.begin() ? kept_.front() : *std::prev(later), activity};
}

bool TrainingSnapshots::is_news(std::optional<std::int64_t> step) const {
    const auto [snapshot, activity] = wanted(step);
    return snapshot != nullptr && (snapshot != shown_ || activity != shown_activity_);
}

bool TrainingSnapshots::show(std::optional<std::int64_t> step) {
    if (!is_news(step)) return false;
    std::tie(shown_, shown_activity_) = wanted(step);
    gpu::wait_idle(device_);  // for what reads the copies
    for (const Copied& one : copied_) std::memcpy(one.to.mapped(), shown_->rows.data() + one.offset, one.bytes);
    live_.publish_copies(shown_activity_);
    return true;
}

}  // namespace vantage::view
