#include "viewer/data/view_work.h"
#include "runtime/base/at.h"
#include "runtime/gpu/queue.h"

#include <algorithm>
#include <utility>

namespace vantage::view {

namespace {

constexpr const char* work_names[] = {"tile",       "stream",    "pool",    "factors",  "probe",
                                      "statistics", "histogram", "excerpt", "distances"};
// Products per second that even a slow device reaches: limits the first batches.
constexpr double slow_gpu = 2e10, slow_cpu = 2e7;
constexpr double min_products = 4096;  // a dispatch is never free

std::size_t index_of(Work kind) { return static_cast<std::size_t>(kind); }

}  // namespace

ViewWork::ViewWork(gpu::DeviceState& device) : device_(device) {
    for (Speed& speed : speeds_) speed.seconds_per_product = 1 / (device.caps().is_cpu() ? slow_cpu : slow_gpu);
}

bool ViewWork::idle() {
    if (!in_flight_) return true;
    if (gpu::reached(device_) < value_) return false;
    note_times();
    return true;
}

void ViewWork::wait() {
    if (!in_flight_) return;
    gpu::wait(device_, value_);
    note_times();
}

// Seconds of a kind per product. The first time counts less than later ones, because a driver may have compiled in it.
void ViewWork::note_times() {
    in_flight_ = false;
    std::array<double, kinds> seconds{};
    for (const gpu::Recording::Timing& timing : recording_->timings()) {
        const auto kind = static_cast<std::size_t>(std::ranges::find(work_names, timing.label) - work_names);
        seconds[kind] += static_cast<double>(timing.end_ns - timing.begin_ns) / 1e9;
    }
    for (std::size_t kind = 0; kind < kinds; ++kind) {
        device_seconds_ += seconds[kind];
        if (products_[kind] <= 0 || seconds[kind] <= 0) continue;
        Speed& speed = speeds_[kind];
        const double now = seconds[kind] / products_[kind];
        speed.seconds_per_product =
            speed.measured ? std::min(2 * speed.seconds_per_product, 0.7 * speed.seconds_per_product + 0.3 * now) : now;
        speed.measured = true;
    }
}

double ViewWork::take_device_seconds() { return std::exchange(device_seconds_, 0); }

void ViewWork::begin(double seconds) {
    recording_.emplace(device_, "view", u32(max_dispatches));
    products_ = {};
    count_ = 0;
    left_ = seconds;
    open_ = true;
}

double ViewWork::predicted(Work kind, double products) const {
    return speeds_[index_of(kind)].seconds_per_product * std::max(products, min_products);
}

double ViewWork::room(Work kind) const {
    if (!open_ || count_ >= max_dispatches) return 0;
    const double products = left_ / speeds_[index_of(kind)].seconds_per_product;
    return count_ == 0 ? std::max(products, 1.0) : std::max(products, 0.0);
}

void ViewWork::add(Work kind, const gpu::PipelineKey& key, std::span<const std::byte> params,
                   std::array<std::uint32_t, 3> groups, double products) {
    const bool follows =
        kind == Work::pool || kind == Work::factors || kind == Work::distances;  // on what others of its kind have made
    if (count_ > 0 && (kind != last_ || follows)) recording_->barrier();
    recording_->dispatch(gpu::pipeline(device_, key), params, groups, work_names[index_of(kind)]);
    products_[index_of(kind)] += std::max(products, min_products);
    left_ -= predicted(kind, products);
    last_ = kind;
    ++count_;
}

void ViewWork::submit() {
    if (!std::exchange(open_, false) || count_ == 0) return;
    recording_->end();
    value_ = gpu::submit(device_, *recording_);
    in_flight_ = true;
    ++submissions_;
}

}  // namespace vantage::view
