// Command buffers recorded once and submitted many times, the queue, and GPU timestamps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/gpu/memory.h"
#include "runtime/gpu/vk.h"

namespace vantage::gpu {

/// One primary command buffer. It may be submitted again while an earlier submission of it still runs, so everything
/// that changes from run to run lives in buffers. It begins with a barrier against the recording before it.
class Recording {
public:
    /// Room for `timestamps` dispatches to be timed; 0 times nothing.
    Recording(DeviceState& device, const std::string& name, std::uint32_t timestamps = 0);
    ~Recording();
    Recording(Recording&&) noexcept;
    Recording& operator=(Recording&&) noexcept;

    /// One dispatch. `push` are the push constants, at most 128 bytes. A grid beyond the device's limits is a failure.
    void dispatch(VkPipeline pipeline, std::span<const std::byte> push, std::array<std::uint32_t, 3> groups,
                  const std::string& label = {});
    /// A part of a grid that would take too long in one go: the workgroups from `base` on. The pipeline's key says
    /// `in_pieces`. gl_WorkGroupID counts from `base`, gl_NumWorkGroups is the piece's: cut y or z, not x, where the shader
    /// makes an index of both (lib/index.glsl).
    void dispatch_piece(VkPipeline pipeline, std::span<const std::byte> push, std::array<std::uint32_t, 3> base,
                        std::array<std::uint32_t, 3> groups, const std::string& label = {});
    /// The same with the grid read from `grid` at `offset` (three uint32) when the device gets there.
    void dispatch_indirect(VkPipeline pipeline, std::span<const std::byte> push, const Buffer& grid,
                           std::uint64_t offset, const std::string& label = {});
    void copy(const Buffer& from, std::uint64_t from_offset, const Buffer& to, std::uint64_t to_offset,
              std::uint64_t bytes);
    /// A 32-bit pattern; offset and size are multiples of 4.
    void fill(const Buffer& to, std::uint64_t offset, std::uint64_t bytes, std::uint32_t pattern);
    /// Everything before is finished and visible to everything after: dispatches, grids, copies.
    void barrier();
    /// After this the recording cannot be changed, only submitted.
    void end();

    VkCommandBuffer handle() const;
    /// Label and duration in nanoseconds of each timed dispatch of the last submission; empty while that is at work.
    struct Timing {
        std::string label;
        std::uint64_t begin_ns, end_ns;  ///< on the device's clock
    };
    std::vector<Timing> timings() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Submits recordings in order as one submission. Returns the value that the device's timeline reaches when it is done.
/// Thread-safe. Validates nothing: the recordings must have ended.
std::uint64_t submit(DeviceState& device, std::span<const Recording* const> recordings);
/// The same of a command buffer that another part of the program has recorded (the viewer's drawing), which waits for and
/// signals semaphores of its own beside the timeline.
std::uint64_t submit(DeviceState& device, VkCommandBuffer commands, std::span<const VkSemaphoreSubmitInfo> waits,
                     std::span<const VkSemaphoreSubmitInfo> signals);
/// Waits until the timeline reaches `value`. Looks for Ctrl-C now and then (throws interrupted when `interruptible`);
/// throws device_lost after `timeout_seconds` (default from VANTAGE_TIMEOUT, else 60 on a GPU, 600 on a CPU device).
void wait(DeviceState& device, std::uint64_t value, bool interruptible = true, double timeout_seconds = 0);
/// What this thread has spent in `wait` so far.
double seconds_waited();
/// The value reached so far, without waiting.
std::uint64_t reached(DeviceState& device);
/// Waits for all submitted work; throws nothing.
void wait_idle(DeviceState& device) noexcept;

}  // namespace vantage::gpu
