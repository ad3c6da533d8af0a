// Command buffers that are recorded once and submitted many times, with GPU timestamps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/gpu/buffer.h"
#include "runtime/gpu/vulkan_calls.h"

namespace vantage::gpu {

/// What touches memory before a barrier, or after it.
struct Access {
    VkPipelineStageFlags2 stages;
    VkAccessFlags2 accesses;
};
constexpr Access read_by_host{VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_READ_BIT};
void memory_barrier(VkCommandBuffer commands, const Access& from, const Access& to);

/// A command buffer with its pool. `times` is null where nothing is timed. The owner retires pool and times.
struct Commands {
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer buffer = VK_NULL_HANDLE;
    VkQueryPool times = VK_NULL_HANDLE;
};
/// Fills `made`, also in part when it throws. With `timestamps`, where the queue has any.
void make_commands(const DeviceState& device, const std::string& name, std::uint32_t timestamps, Commands& made);

/// One primary command buffer. It can be submitted again while an earlier submission of it is still running, so
/// everything that changes from run to run is in buffers. It begins with a barrier against all work before it.
class Recording {
public:
    /// Times up to `timestamps` dispatches.
    Recording(DeviceState& device, const std::string& name, std::uint32_t timestamps = 0);
    ~Recording();
    Recording(Recording&&) noexcept;
    Recording& operator=(Recording&&) noexcept;

    /// One dispatch. `push` are the push constants: at most 128 bytes, a multiple of 4. Throws `failure` when the grid
    /// exceeds the device's limits.
    void dispatch(VkPipeline pipeline, std::span<const std::byte> push, std::array<std::uint32_t, 3> groups,
                  const std::string& label = {});
    /// A part of a grid that would take too long in one dispatch: the `groups` workgroups from `base` on. In the shader
    /// gl_WorkGroupID counts from `base`, but gl_NumWorkGroups is that of the part, so a shader that computes an index
    /// from both (lib/index.glsl) can be split along y or z only.
    void dispatch_piece(VkPipeline pipeline, std::span<const std::byte> push, std::array<std::uint32_t, 3> base,
                        std::array<std::uint32_t, 3> groups, const std::string& label = {});
    /// One dispatch whose grid (three uint32) the device reads from `grid` at `offset` when it executes the dispatch.
    void dispatch_indirect(VkPipeline pipeline, std::span<const std::byte> push, const Buffer& grid,
                           std::uint64_t offset, const std::string& label = {});
    void copy(const Buffer& from, std::uint64_t from_offset, const Buffer& to, std::uint64_t to_offset,
              std::uint64_t bytes);
    /// Fills with a 32-bit pattern. Offset and size are multiples of 4.
    void fill(const Buffer& to, std::uint64_t offset, std::uint64_t bytes, std::uint32_t pattern);
    /// Everything before is finished and visible to everything after: dispatches, indirect grids, copies.
    void barrier();
    /// After this the recording can be submitted, and no longer changed. The host sees what it and those before it
    /// wrote, unless `for_host` is false: then a later one must end for the host before that reads.
    void end(bool for_host = true);

    VkCommandBuffer handle() const;
    /// A timed dispatch, in nanoseconds of the device's clock.
    struct Timing {
        std::string label;
        std::uint64_t begin_ns, end_ns;
    };
    /// The timed dispatches of the last submission. Empty while it is running.
    std::vector<Timing> timings() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace vantage::gpu
