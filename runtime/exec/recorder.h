// The Vulkan side of a plan: its memory, and its dispatches recorded once and submitted as often as wanted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/exec/plan_memory.h"
#include "runtime/gpu/recording.h"
#include "runtime/graph/schedule.h"
#include "vantage/plan.h"

namespace vantage::internal {

class Recorder {
public:
    Recorder(const Graph& graph, const Schedule& schedule, const PlanMemory& memory, gpu::DeviceState& device,
             const CompileOptions& options);
    ~Recorder();

    /// Submits the recordings of these segments, as few submissions as keep each below the device's time budget, and
    /// not more than two ahead of the device, so that an interruption does not wait long.
    /// `filled` is the part of the cache that holds keys after the run.
    std::uint64_t submit(std::span<const int> segments, double filled);
    /// Submits all segments, to begin when `waits` are signalled; never waits on the host, and so measures nothing.
    std::uint64_t submit_after(std::span<const VkSemaphoreSubmitInfo> waits);
    /// Forgets the recordings, whose addresses or kernels are no longer those of the plan: the next run records again.
    void forget() { recordings_.clear(), timings_.clear(); }
    /// Makes the pipelines that are missing. Throws unsupported when the driver refuses one.
    void prepare() const;
    void wait(std::uint64_t ticket);
    /// Runs the dispatches of one node alone and waits.
    void run_node(int node);
    /// All dispatches, `times` in a row, each of them timed: one recording, for measuring.
    gpu::Recording repeated(std::uint32_t times) const;
    /// Dispatch times of the last submission, with CompileOptions::profile.
    const std::vector<DispatchTiming>& timings() const { return timings_; }

private:
    // What a dispatch or a recording costs, in arbitrary units: always, and with a full cache on top.
    struct Work {
        double fixed = 0, growing = 0;
        double at(double filled) const { return fixed + filled * growing; }
    };
    // A recorded stretch of dispatches; or part `part` of `parts` of a single one that alone would take too long.
    struct Recorded {
        std::size_t first, last;
        std::uint32_t part = 0, parts = 1;
        int segment = 0;
        Work work;
        gpu::Recording recording;
    };
    gpu::Recording record(std::size_t first, std::size_t last, std::uint32_t part, std::uint32_t parts,
                          const std::string& name, bool for_host) const;
    void add(gpu::Recording& recording, const Dispatch& dispatch, std::uint32_t part, std::uint32_t parts) const;
    std::vector<std::uint64_t> addresses_of(const Dispatch& dispatch) const;
    Work work_of(const Dispatch& dispatch, int launches) const;
    void record_from(std::size_t kept, std::size_t begin, std::uint32_t part, std::uint32_t parts, double filled);
    void record_all(double filled) { record_from(0, 0, 0, 0, filled); }
    bool outgrown(double filled);
    Recorded recorded(std::size_t first, std::size_t last, std::uint32_t part = 0, std::uint32_t parts = 1) const;
    std::string layer_of(const Node& node) const;
    DispatchTiming described(std::size_t dispatch, std::uint32_t parts, double filled) const;
    void collect_timings(double submitted, double filled);
    double choose(std::span<const int> segments, double filled);
    std::uint64_t submit_first(std::span<const int> segments, double filled);
    std::uint64_t submit_as_measured(std::span<const int> segments, double filled);
    double predicted_seconds(std::size_t dispatch) const { return seconds_per_work_ * work_[dispatch].at(cut_for_); }

    const Graph& graph_;
    const Schedule& schedule_;
    const PlanMemory& memory_;
    gpu::DeviceState& device_;
    bool profile_;
    double submission_seconds_;
    std::vector<Recorded> recordings_;
    std::vector<const gpu::Recording*> run_;  // a member, so that submitting allocates nothing
    std::vector<Work> work_;                  // by dispatch
    double seconds_per_work_ = 0;             // a cautious guess; in the first run it falls to a fourth at a time
    bool measured_ = false;
    double cut_for_ = 1;  // the part of the cache for which the recordings are short enough
    std::vector<DispatchTiming> timings_;
};

}  // namespace vantage::internal
