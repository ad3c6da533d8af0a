#include "runtime/gpu/recording.h"

#include "runtime/base/at.h"
#include "runtime/base/format.h"
#include "runtime/gpu/device_state.h"
#include "runtime/gpu/faults.h"
#include "runtime/gpu/pipelines.h"

namespace vantage::gpu {
namespace {

constexpr Access written_by_work{VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
                                 VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT};

}  // namespace

void memory_barrier(VkCommandBuffer commands, const Access& from, const Access& to) {
    auto barrier = vk_struct<VkMemoryBarrier2>(VK_STRUCTURE_TYPE_MEMORY_BARRIER_2);
    barrier.srcStageMask = from.stages;
    barrier.srcAccessMask = from.accesses;
    barrier.dstStageMask = to.stages;
    barrier.dstAccessMask = to.accesses;
    auto dependency = vk_struct<VkDependencyInfo>(VK_STRUCTURE_TYPE_DEPENDENCY_INFO);
    dependency.memoryBarrierCount = 1;
    dependency.pMemoryBarriers = &barrier;
    vkCmdPipelineBarrier2(commands, &dependency);
}

void make_commands(const DeviceState& device, const std::string& name, std::uint32_t timestamps, Commands& made) {
    auto pool = vk_struct<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
    pool.queueFamilyIndex = device.parts.queue_family;
    VK_CHECK(vkCreateCommandPool(device.device, &pool, nullptr, &made.pool));
    device.set_name(VK_OBJECT_TYPE_COMMAND_POOL, made.pool, name);
    auto info = vk_struct<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
    info.commandPool = made.pool;
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    VK_CHECK(vkAllocateCommandBuffers(device.device, &info, &made.buffer));
    device.set_name(VK_OBJECT_TYPE_COMMAND_BUFFER, made.buffer, name);
    if (timestamps == 0 || device.queue.timestamp_bits == 0) return;
    auto queries = vk_struct<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
    queries.queryType = VK_QUERY_TYPE_TIMESTAMP;
    queries.queryCount = timestamps;
    VK_CHECK(vkCreateQueryPool(device.device, &queries, nullptr, &made.times));
    device.set_name(VK_OBJECT_TYPE_QUERY_POOL, made.times, name);
}

struct Recording::State {
    std::shared_ptr<DeviceState> device;
    std::string name;
    /// A pool of its own: pools are not thread-safe, and so threads make recordings in parallel without a lock.
    Commands made;
    std::uint32_t max_timed = 0;  ///< dispatches that can be timed
    std::vector<std::string> labels;
    VkPipeline bound = VK_NULL_HANDLE;
    bool ended = false;

    ~State() {
        if (device) device->retire({.pool = made.pool, .queries = made.times});
    }
    void bind(VkPipeline pipeline, std::span<const std::byte> push);
    void require_grid(const std::array<std::uint32_t, 3>& base, const std::array<std::uint32_t, 3>& groups,
                      const std::string& label) const;
    template <class Dispatch>
    void timed(const std::string& label, Dispatch dispatch);
    void require_open(const char* what) const {
        if (ended) throw Error(ErrorKind::failure, format("recording '{}' has ended: no {} can be added", name, what));
    }
};

void Recording::State::bind(VkPipeline pipeline, std::span<const std::byte> push) {
    if (push.size() > 128 || push.size() % 4 != 0)
        throw Error(ErrorKind::failure,
                    format("recording '{}': {} bytes of push constants; they must be a multiple of 4 and at most 128",
                           name, push.size()));
    if (pipeline != bound) vkCmdBindPipeline(made.buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    bound = pipeline;
    if (push.empty()) return;
    vkCmdPushConstants(made.buffer, device->pipelines->layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0, u32(push.size()),
                       push.data());
}

void Recording::State::require_grid(const std::array<std::uint32_t, 3>& base,
                                    const std::array<std::uint32_t, 3>& groups, const std::string& label) const {
    const auto& maximum = device->caps().max_workgroup_count;
    for (std::size_t i = 0; i < 3; ++i) {
        if (std::uint64_t{base[i]} + groups[i] <= maximum[i]) continue;
        throw Error(
            ErrorKind::failure,
            format("{}: a grid of {} x {} x {} workgroups from ({}, {}, {}), this device allows at most {} x {} x {}",
                   label.empty() ? name : label, groups[0], groups[1], groups[2], base[0], base[1], base[2], maximum[0],
                   maximum[1], maximum[2]));
    }
}

/// Both timestamps wait for everything before them: overlapping dispatches share their time, so the sum is the total.
template <class Dispatch>
void Recording::State::timed(const std::string& label, Dispatch dispatch) {
    const bool named = device->parts.debug_names && !label.empty();
    if (named) {
        auto info = vk_struct<VkDebugUtilsLabelEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT);
        info.pLabelName = label.c_str();
        const std::lock_guard lock(label_mutex);
        vkCmdBeginDebugUtilsLabelEXT(made.buffer, &info);
    }
    const auto index = u32(labels.size());
    const bool stamped = index < max_timed;
    if (stamped) vkCmdWriteTimestamp2(made.buffer, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, made.times, 2 * index);
    dispatch();
    if (stamped) {
        vkCmdWriteTimestamp2(made.buffer, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, made.times, 2 * index + 1);
        labels.push_back(label);
    }
    if (named) {
        const std::lock_guard lock(label_mutex);
        vkCmdEndDebugUtilsLabelEXT(made.buffer);
    }
}

Recording::Recording(DeviceState& device, const std::string& name, std::uint32_t timestamps)
    : state_(std::make_unique<State>()) {
    device.require_alive();
    State& s = *state_;
    s.device = device.shared_from_this();
    s.name = name;
    make_commands(device, name, 2 * timestamps, s.made);
    if (s.made.times != VK_NULL_HANDLE) s.max_timed = timestamps;
    auto info = vk_struct<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
    info.flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
    {
        std::unique_lock lock(label_mutex, std::defer_lock);
        if (device.parts.debug_names) lock.lock();
        VK_CHECK(vkBeginCommandBuffer(s.made.buffer, &info));
    }
    count_recording();
    if (s.max_timed > 0) vkCmdResetQueryPool(s.made.buffer, s.made.times, 0, 2 * s.max_timed);
    barrier();
}

Recording::~Recording() = default;
Recording::Recording(Recording&&) noexcept = default;
Recording& Recording::operator=(Recording&&) noexcept = default;

void Recording::dispatch(VkPipeline pipeline, std::span<const std::byte> push, std::array<std::uint32_t, 3> groups,
                         const std::string& label) {
    dispatch_piece(pipeline, push, {}, groups, label);
}

void Recording::dispatch_piece(VkPipeline pipeline, std::span<const std::byte> push, std::array<std::uint32_t, 3> base,
                               std::array<std::uint32_t, 3> groups, const std::string& label) {
    state_->require_open("dispatch");
    state_->require_grid(base, groups, label);
    state_->bind(pipeline, push);
    state_->timed(label, [&] {
        vkCmdDispatchBase(state_->made.buffer, base[0], base[1], base[2], groups[0], groups[1], groups[2]);
    });
}

void Recording::dispatch_indirect(VkPipeline pipeline, std::span<const std::byte> push, const Buffer& grid,
                                  std::uint64_t offset, const std::string& label) {
    state_->require_open("dispatch");
    state_->bind(pipeline, push);
    state_->timed(label, [&] { vkCmdDispatchIndirect(state_->made.buffer, grid.handle(), offset); });
}

void Recording::copy(const Buffer& from, std::uint64_t from_offset, const Buffer& to, std::uint64_t to_offset,
                     std::uint64_t bytes) {
    state_->require_open("copy");
    require_range(from, from_offset, bytes, "copy from");
    require_range(to, to_offset, bytes, "copy to");
    if (bytes == 0) return;
    const VkBufferCopy region{from_offset, to_offset, bytes};
    vkCmdCopyBuffer(state_->made.buffer, from.handle(), to.handle(), 1, &region);
}

void Recording::fill(const Buffer& to, std::uint64_t offset, std::uint64_t bytes, std::uint32_t pattern) {
    state_->require_open("fill");
    require_range(to, offset, bytes, "fill");
    if (offset % 4 != 0 || bytes % 4 != 0)
        throw Error(ErrorKind::failure, format("fill of '{}': offset and size must be multiples of 4", to.name()));
    if (bytes != 0) vkCmdFillBuffer(state_->made.buffer, to.handle(), offset, bytes, pattern);
}

void Recording::barrier() {
    state_->require_open("barrier");
    memory_barrier(state_->made.buffer, written_by_work,
                   {written_by_work.stages | VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT,
                    written_by_work.accesses | VK_ACCESS_2_SHADER_STORAGE_READ_BIT | VK_ACCESS_2_TRANSFER_READ_BIT |
                        VK_ACCESS_2_INDIRECT_COMMAND_READ_BIT});
}

void Recording::end(bool for_host) {
    state_->require_open("end");
    // Waiting for the timeline makes writes available. Only this barrier makes them visible to the host.
    if (for_host) memory_barrier(state_->made.buffer, written_by_work, read_by_host);
    state_->ended = true;
    VK_CHECK(vkEndCommandBuffer(state_->made.buffer));
}

VkCommandBuffer Recording::handle() const { return state_->made.buffer; }

std::vector<Recording::Timing> Recording::timings() const {
    const auto count = u32(state_->labels.size());
    if (count == 0) return {};
    std::vector<std::uint64_t> ticks(2 * std::size_t{count});
    const VkResult result =
        VK_RESULT_AS(any, vkGetQueryPoolResults(state_->device->device, state_->made.times, 0, 2 * count,
                                                ticks.size() * sizeof(std::uint64_t), ticks.data(),
                                                sizeof(std::uint64_t), VK_QUERY_RESULT_64_BIT));
    if (result == VK_NOT_READY) return {};
    if (failed(result)) throw_vk(result, "vkGetQueryPoolResults", SourceLocation::here());
    const std::uint32_t bits = state_->device->queue.timestamp_bits;
    const std::uint64_t mask = bits >= 64 ? ~0ull : (1ull << bits) - 1;
    const double period = static_cast<double>(state_->device->caps().timestamp_period);
    std::vector<Timing> timings;
    timings.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        // The difference is computed in ticks, because a counter with few bits may have wrapped in between.
        const std::uint64_t begin = ticks[2 * i] & mask, duration = (ticks[2 * i + 1] - ticks[2 * i]) & mask;
        const auto begin_ns = static_cast<std::uint64_t>(static_cast<double>(begin) * period);
        timings.push_back({state_->labels[i], begin_ns,
                           begin_ns + static_cast<std::uint64_t>(static_cast<double>(duration) * period)});
    }
    return timings;
}

}  // namespace vantage::gpu
