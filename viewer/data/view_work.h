// The viewer's dispatches: recorded within a time limit and submitted as one batch.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "runtime/gpu/device_state.h"
#include "runtime/gpu/pipelines.h"
#include "runtime/gpu/recording.h"

namespace vantage::view {

/// Kinds of work. Each has its own speed.
enum class Work : std::uint8_t {
    tile,
    stream,
    pool,
    factors,
    hovered_weight,
    statistics,
    histogram,
    excerpt,
    distances
};

/// At most one batch is on the device at a time. Work is counted in multiply-adds. How many fit into a batch follows
/// from the time that earlier ones took.
class ViewWork {
public:
    explicit ViewWork(gpu::DeviceState& device);

    /// Whether the previous batch is done. Does not wait.
    bool idle();
    /// Waits for the previous batch, for pictures without a window.
    void wait();
    void begin(double seconds);
    /// Multiply-adds of a kind that still fit into the batch: at least 1 while it is empty, 0 without a batch.
    double room(Work kind) const;
    /// Adds a dispatch. It waits for earlier dispatches of other kinds; pools and factors also wait for their own kind.
    template <class Params>
        requires std::is_trivially_copyable_v<Params>
    void add(Work kind, const gpu::PipelineKey& key, const Params& params, std::array<std::uint32_t, 3> groups,
             double products) {
        add(kind, key, std::as_bytes(std::span(&params, 1)), groups, products);
    }
    void add(Work kind, const gpu::PipelineKey& key, std::span<const std::byte> params,
             std::array<std::uint32_t, 3> groups, double products);
    bool open() const { return open_; }
    bool in_flight() const { return in_flight_; }
    bool empty() const { return count_ == 0; }
    /// Submits the batch if it is not empty.
    void submit();

    std::uint64_t submissions() const { return submissions_; }
    /// Device seconds of finished batches; taken once.
    double take_device_seconds();

private:
    static constexpr std::size_t kinds = 9, max_dispatches = 256;
    struct Speed {
        double seconds_per_product = 0;
        bool measured = false;
    };
    void note_times();
    double predicted(Work kind, double products) const;

    gpu::DeviceState& device_;
    std::optional<gpu::Recording> recording_;
    std::array<Speed, kinds> speeds_;
    std::array<double, kinds> products_{};  // in the batch
    Work last_ = Work::tile;
    std::size_t count_ = 0;
    double left_ = 0;  // seconds
    std::uint64_t value_ = 0, submissions_ = 0;
    bool open_ = false, in_flight_ = false;
    double device_seconds_ = 0;
};

/// As operands that are absent are marked for lib/storage.glsl's present().
inline std::uint64_t absent(std::uint64_t some_address) { return some_address | 1; }

}  // namespace vantage::view
