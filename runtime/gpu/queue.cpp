#include "runtime/gpu/queue.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "runtime/base/at.h"
#include "runtime/base/clock.h"
#include "runtime/base/errors.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/options.h"
#include "runtime/base/trace_span.h"
#include "runtime/gpu/device_state.h"
#include "runtime/gpu/faults.h"
#include "runtime/gpu/recording.h"

namespace vantage::gpu {
namespace {

thread_local double waited = 0;  // seconds

/// Seconds that a wait may take: VANTAGE_TIMEOUT, else far more than a submission needs.
double default_timeout(const DeviceState& device) {
    static const std::optional<double> wanted = []() -> std::optional<double> {
        const std::optional<std::string> text = environment("VANTAGE_TIMEOUT");
        if (!text) return std::nullopt;
        double seconds = 0;
        const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), seconds);
        if (error != std::errc() || end != text->data() + text->size() || !(seconds > 0) || !std::isfinite(seconds))
            throw usage_error("VANTAGE_TIMEOUT={} is not a time: use a number of seconds, such as 30", *text);
        return seconds;
    }();
    return wanted.value_or(device.caps().is_cpu() ? 600.0 : 60.0);
}

/// Throws what a wait of at most `seconds` failed with.
[[noreturn]] void fail_wait(DeviceState& device, VkResult result, double seconds) {
    if (result != VK_TIMEOUT) {
        device.lose_if_lost(result, "vkWaitSemaphores");
        throw_vk(result, "vkWaitSemaphores", SourceLocation::here());
    }
    const std::string cause = format(
        "did not finish within {:g} seconds: it hangs, or the work is too large for it; VANTAGE_TIMEOUT sets the limit "
        "in seconds",
        seconds);
    device.lose("it " + cause);
    throw Error(ErrorKind::device_lost, device.caps().name + " " + cause);
}

VkCommandBufferSubmitInfo submit_info(VkCommandBuffer commands) {
    auto info = vk_struct<VkCommandBufferSubmitInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO);
    info.commandBuffer = commands;
    return info;
}

/// Submits commands, which wait for `waits` and signal the timeline and `signals`. The caller holds the queue's mutex.
std::uint64_t submit_locked(DeviceState& device, std::span<const VkCommandBufferSubmitInfo> commands,
                            std::span<const VkSemaphoreSubmitInfo> waits,
                            std::span<const VkSemaphoreSubmitInfo> signals) {
    constexpr std::size_t max_signals = 4;
    std::array<VkSemaphoreSubmitInfo, max_signals> all{};
    const std::uint64_t value = device.queue.submitted + 1;
    all[0] = vk_struct<VkSemaphoreSubmitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO);
    all[0].semaphore = device.queue.timeline;
    all[0].value = value;
    all[0].stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
    if (signals.size() >= max_signals) throw Error(ErrorKind::failure, "a submission signals at most 3 semaphores");
    std::ranges::copy(signals, all.begin() + 1);
    auto info = vk_struct<VkSubmitInfo2>(VK_STRUCTURE_TYPE_SUBMIT_INFO_2);
    info.waitSemaphoreInfoCount = u32(waits.size());
    info.pWaitSemaphoreInfos = waits.data();
    info.commandBufferInfoCount = u32(commands.size());
    info.pCommandBufferInfos = commands.data();
    info.signalSemaphoreInfoCount = u32(1 + signals.size());
    info.pSignalSemaphoreInfos = all.data();
    const VkResult result = VK_RESULT_AS(submit, vkQueueSubmit2(device.parts.queue, 1, &info, VK_NULL_HANDLE));
    if (failed(result)) {
        device.lose_if_lost(result, "vkQueueSubmit2");
        throw_vk(result, "vkQueueSubmit2", SourceLocation::here());
    }
    count_submission();
    device.queue.submitted = value;
    return value;
}

}  // namespace

std::uint64_t submit(DeviceState& device, std::span<const Recording* const> recordings,
                     std::span<const VkSemaphoreSubmitInfo> waits) {
    const TraceSpan span("submit", Worker::driver);
    device.require_alive();
    const std::lock_guard lock(device.queue.mutex);
    device.queue.submit_infos.clear();
    for (const Recording* recording : recordings) device.queue.submit_infos.push_back(submit_info(recording->handle()));
    return submit_locked(device, device.queue.submit_infos, waits, {});
}

std::uint64_t submit(DeviceState& device, VkCommandBuffer commands, std::span<const VkSemaphoreSubmitInfo> waits,
                     std::span<const VkSemaphoreSubmitInfo> signals) {
    device.require_alive();
    const VkCommandBufferSubmitInfo one = submit_info(commands);
    const std::lock_guard lock(device.queue.mutex);
    return submit_locked(device, {&one, 1}, waits, signals);
}

double seconds_waited() { return waited; }

void wait(DeviceState& device, std::uint64_t value, bool interruptible, double timeout_seconds) {
    device.require_alive();
    const double limit = timeout_seconds > 0 ? timeout_seconds : default_timeout(device);
    VkResult result = VK_SUCCESS;
    if (fault_due(FaultPoint::wait, result)) fail_wait(device, result, limit);
    const TraceSpan span("wait for the device", Worker::driver);
    const double start = seconds_now();
    while (true) {
        // In slices of 0.1 s, because Ctrl-C does not interrupt a Vulkan call.
        const double left = limit - (seconds_now() - start);
        result = device.wait_timeline(value, std::clamp(left, 0.0, 0.1));
        if (result == VK_SUCCESS) {
            waited += seconds_now() - start;
            return device.collect();
        }
        if (result != VK_TIMEOUT) fail_wait(device, result, limit);
        if (interruptible) throw_if_interrupted();
        if (left <= 0) fail_wait(device, VK_TIMEOUT, limit);
    }
}

std::uint64_t reached(DeviceState& device) {
    std::uint64_t value = 0;
    VK_CHECK(vkGetSemaphoreCounterValue(device.device, device.queue.timeline, &value));
    return value;
}

bool wait_idle(DeviceState& device) noexcept {
    if (device.queue.lost) return device.quiesce(0);
    // After a signal the wait is short. A device that did not respond counts as lost, so it is not waited for again.
    const double seconds = ending() ? 0.1 : interrupted() ? 10.0 : device.caps().is_cpu() ? 600.0 : 60.0;
    if (device.quiesce(seconds)) return true;
    device.lose("it did not finish in time");
    return false;
}

}  // namespace vantage::gpu
