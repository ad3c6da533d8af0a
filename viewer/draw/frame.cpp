#include "viewer/draw/frame.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/gpu/queue.h"

namespace vantage::view {
namespace {

using gpu::vk_struct;

constexpr std::uint64_t first_piece = 1u << 20;

/// Work of the compute queue for this picture is visible to it, and the picture is complete before that memory is
/// written again.
void all_before_all(VkCommandBuffer commands) {
    gpu::memory_barrier(
        commands, {VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, VK_ACCESS_2_MEMORY_WRITE_BIT},
        {VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT});
}

}  // namespace

std::uint64_t Frame::put(std::span<const std::byte> bytes) {
    if (pieces_.empty() || used_ + bytes.size() > pieces_.back().bytes()) {
        const std::uint64_t before = pieces_.empty() ? first_piece / 2 : pieces_.back().bytes();
        pieces_.push_back(gpu::allocate(*device_, std::max<std::uint64_t>(before * 2, bytes.size()),
                                        gpu::MemoryKind::shared, "what a picture reads"));
        used_ = 0;
    }
    const std::uint64_t at = used_;
    if (!bytes.empty()) std::memcpy(pieces_.back().mapped() + at, bytes.data(), bytes.size());
    used_ = (at + bytes.size() + 15) / 16 * 16;
    return pieces_.back().address() + at;
}

gpu::Buffer written_once(const Device& device, std::span<const std::byte> bytes, const char* name) {
    gpu::Buffer buffer = gpu::allocate(device.state(), bytes.size(), gpu::MemoryKind::shared, name);
    std::memcpy(buffer.mapped(), bytes.data(), bytes.size());
    return buffer;
}

FrameRing::FrameRing(const Device& device) : device_(device) {
    for (Frame& frame : frames_) frame.device_ = &device_.state();
}

FrameRing::~FrameRing() {
    try {
        note_foreign();
    } catch (const Error&) {  // the device is lost: nothing runs on it
    }
    gpu::wait_idle(device_.state());
    for (const Frame& frame : frames_)
        device_.state().retire({.pool = frame.commands_.pool, .queries = frame.commands_.times});
}

bool FrameRing::ready() const { return gpu::reached(device_.state()) >= frames_[next_].value_; }

Frame& FrameRing::next() {
    Frame& frame = frames_[next_];
    if (!ready()) gpu::wait(device_.state(), frame.value_, false);
    device_.state().collect();
    next_ = 1 - next_;
    if (frame.value_ != 0) read_times(frame);
    if (frame.pieces_.size() > 1) frame.pieces_.erase(frame.pieces_.begin(), frame.pieces_.end() - 1);
    frame.used_ = 0;
    return frame;
}

// An empty submission signals the device's timeline after everything that was submitted to the queue before it.
void FrameRing::note_foreign() {
    if (Frame* frame = std::exchange(foreign_, nullptr)) frame->value_ = gpu::submit(device_.state(), {});
}

Frame& FrameRing::begin(VkCommandBuffer commands) {
    note_foreign();
    Frame& frame = next();
    frame.commands_.buffer = commands;
    all_before_all(commands);
    return frame;
}

void FrameRing::end(Frame& frame) {
    all_before_all(frame.commands());
    foreign_ = &frame;
}

Frame& FrameRing::begin() {
    gpu::DeviceState& state = device_.state();
    Frame& frame = next();
    if (frame.commands_.pool == VK_NULL_HANDLE) gpu::make_commands(state, "picture", 2, frame.commands_);
    VK_CHECK(vkResetCommandPool(state.device, frame.commands_.pool, 0));
    auto begin = vk_struct<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    VK_CHECK(vkBeginCommandBuffer(frame.commands(), &begin));
    if (frame.commands_.times != VK_NULL_HANDLE) {
        vkCmdResetQueryPool(frame.commands(), frame.commands_.times, 0, 2);
        vkCmdWriteTimestamp2(frame.commands(), VK_PIPELINE_STAGE_2_TOP_OF_PIPE_BIT, frame.commands_.times, 0);
    }
    all_before_all(frame.commands());
    return frame;
}

std::uint64_t FrameRing::submit(Frame& frame, std::span<const VkSemaphoreSubmitInfo> waits,
                                std::span<const VkSemaphoreSubmitInfo> signals) {
    all_before_all(frame.commands());
    if (frame.commands_.times != VK_NULL_HANDLE)
        vkCmdWriteTimestamp2(frame.commands(), VK_PIPELINE_STAGE_2_BOTTOM_OF_PIPE_BIT, frame.commands_.times, 1);
    VK_CHECK(vkEndCommandBuffer(frame.commands()));
    frame.value_ = gpu::submit(device_.state(), frame.commands(), waits, signals);
    return frame.value_;
}

void FrameRing::read_times(Frame& frame) {
    if (frame.commands_.times == VK_NULL_HANDLE) return;
    std::array<std::uint64_t, 2> times{};
    const VkResult result = vkGetQueryPoolResults(device_.state().device, frame.commands_.times, 0, 2, sizeof times,
                                                  times.data(), sizeof times[0], VK_QUERY_RESULT_64_BIT);
    if (result != VK_SUCCESS) return;  // a figure for the status line, no more
    VkPhysicalDeviceProperties properties{};
    vkGetPhysicalDeviceProperties(device_.state().parts.physical, &properties);
    device_seconds_ =
        static_cast<double>(times[1] - times[0]) * static_cast<double>(properties.limits.timestampPeriod) * 1e-9;
}

}  // namespace vantage::view
