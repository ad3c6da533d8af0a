// Submitting and waiting: the functions of commands.h that touch the queue.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <string>

#include "runtime/base/log.h"
#include "runtime/base/options.h"
#include "runtime/base/os.h"
#include "runtime/base/trace_span.h"
#include "runtime/gpu/commands.h"
#include "runtime/gpu/device.h"
#include "runtime/gpu/faults.h"

namespace vantage::gpu {
namespace {

using Clock = std::chrono::steady_clock;

thread_local double waited = 0;

/// Seconds that a wait may take: VANTAGE_TIMEOUT, else what no sane submission needs.
double default_timeout(const DeviceState& device) {
    static const std::optional<double> wanted = []() -> std::optional<double> {
        const std::optional<std::string> text = environment("VANTAGE_TIMEOUT");
        if (!text) return std::nullopt;
        double seconds = 0;
        const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), seconds);
        if (error != std::errc() || end != text->data() + text->size() || !(seconds > 0) || !std::isfinite(seconds)) {
            throw Error(ErrorKind::usage, "VANTAGE_TIMEOUT=" + *text + " is no time: give seconds, such as 30");
        }
        return seconds;
    }();
    return wanted.value_or(device.caps().is_cpu() ? 600.0 : 60.0);
}

VkResult wait_slice(const DeviceState& device, std::uint64_t value, std::uint64_t nanoseconds) {
    auto info = vk_struct<VkSemaphoreWaitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO);
    info.semaphoreCount = 1;
    info.pSemaphores = &device.timeline;
    info.pValues = &value;
    return vkWaitSemaphores(device.device, &info, nanoseconds);
}

[[noreturn]] void throw_timeout(const DeviceState& device, double seconds) {
    throw Error(ErrorKind::device_lost,
                format("%s did not finish within %g seconds: it hangs, or the work is too much for it; "
                       "VANTAGE_TIMEOUT sets the limit in seconds",
                       device.caps().name.c_str(), seconds));
}

/// Fills in what `info` signals on the timeline beside `signals`, and submits it. The queue is locked.
std::uint64_t submit_locked(DeviceState& device, VkSubmitInfo2 info, std::span<const VkSemaphoreSubmitInfo> signals) {
    constexpr std::size_t max_signals = 4;
    std::array<VkSemaphoreSubmitInfo, max_signals> all{};
    const std::uint64_t value = device.submitted + 1;
    all[0] = vk_struct<VkSemaphoreSubmitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO);
    all[0].semaphore = device.timeline;
    all[0].value = value;
    all[0].stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
    if (signals.size() >= max_signals) throw Error(ErrorKind::failure, "a submission signals at most 3 semaphores");
    std::ranges::copy(signals, all.begin() + 1);
    info.signalSemaphoreInfoCount = static_cast<std::uint32_t>(1 + signals.size());
    info.pSignalSemaphoreInfos = all.data();
    const VkResult result = VK_RESULT_AS(submit, vkQueueSubmit2(device.parts.queue, 1, &info, VK_NULL_HANDLE));
    if (failed(result)) {
        if (result == VK_ERROR_DEVICE_LOST || result == VK_TIMEOUT) device.lost = result;
        throw_vk(result, "vkQueueSubmit2", SourceLocation::here());
    }
    count_submission();
    device.submitted = value;
    return value;
}

}  // namespace

std::uint64_t submit(DeviceState& device, std::span<const Recording* const> recordings) {
    const TraceSpan span("submit", Worker::driver);
    device.require_alive();
    const std::lock_guard lock(device.queue_mutex);
    device.submit_infos.clear();
    for (const Recording* recording : recordings) {
        auto info = vk_struct<VkCommandBufferSubmitInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO);
        info.commandBuffer = recording->handle();
        device.submit_infos.push_back(info);
    }
    auto info = vk_struct<VkSubmitInfo2>(VK_STRUCTURE_TYPE_SUBMIT_INFO_2);
    info.commandBufferInfoCount = static_cast<std::uint32_t>(device.submit_infos.size());
    info.pCommandBufferInfos = device.submit_infos.data();
    return submit_locked(device, info, {});
}

std::uint64_t submit(DeviceState& device, VkCommandBuffer commands, std::span<const VkSemaphoreSubmitInfo> waits,
                     std::span<const VkSemaphoreSubmitInfo> signals) {
    device.require_alive();
    auto buffer = vk_struct<VkCommandBufferSubmitInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO);
    buffer.commandBuffer = commands;
    auto info = vk_struct<VkSubmitInfo2>(VK_STRUCTURE_TYPE_SUBMIT_INFO_2);
    info.waitSemaphoreInfoCount = static_cast<std::uint32_t>(waits.size());
    info.pWaitSemaphoreInfos = waits.data();
    info.commandBufferInfoCount = 1;
    info.pCommandBufferInfos = &buffer;
    const std::lock_guard lock(device.queue_mutex);
    return submit_locked(device, info, signals);
}

double seconds_waited() { return waited; }

void wait(DeviceState& device, std::uint64_t value, bool interruptible, double timeout_seconds) {
    device.require_alive();
    const double limit = timeout_seconds > 0 ? timeout_seconds : default_timeout(device);
    VkResult result = VK_SUCCESS;
    if (fault_due(FaultPoint::wait, result)) {
        if (result == VK_TIMEOUT || result == VK_ERROR_DEVICE_LOST) device.lost = result;
        if (result == VK_TIMEOUT) throw_timeout(device, limit);
        throw_vk(result, "vkWaitSemaphores", SourceLocation::here());
    }
    const TraceSpan span("wait for the device", Worker::driver);
    const Clock::time_point start = Clock::now();
    while (true) {
        // In slices, because no call of Vulkan can be woken by Ctrl-C.
        const double left = limit - std::chrono::duration<double>(Clock::now() - start).count();
        const double slice = std::clamp(left, 0.0, 0.1);
        result = wait_slice(device, value, static_cast<std::uint64_t>(slice * 1e9));
        if (result == VK_SUCCESS) {
            waited += std::chrono::duration<double>(Clock::now() - start).count();
            return device.collect();
        }
        if (result != VK_TIMEOUT) {
            if (result == VK_ERROR_DEVICE_LOST) device.lost = result;
            throw_vk(result, "vkWaitSemaphores", SourceLocation::here());
        }
        if (interruptible) throw_if_interrupted();
        if (left <= 0) {
            device.lost = VK_TIMEOUT;
            throw_timeout(device, limit);
        }
    }
}

std::uint64_t reached(DeviceState& device) {
    std::uint64_t value = 0;
    VK_CHECK(vkGetSemaphoreCounterValue(device.device, device.timeline, &value));
    return value;
}

void wait_idle(DeviceState& device) noexcept {
    if (device.lost) return;
    // After Ctrl-C nobody waits long for a device that hangs, and what did not answer once is not waited for again.
    const double patience = interrupted() ? 10.0 : device.caps().is_cpu() ? 600.0 : 60.0;
    if (!device.quiesce(patience)) device.lost = VK_TIMEOUT;
}

bool DeviceState::quiesce(double seconds) noexcept {
    if (timeline == VK_NULL_HANDLE || submitted == 0) return true;
    // A lost device answers at once, with an error: then nothing runs on it any more.
    const VkResult result = wait_slice(*this, submitted, static_cast<std::uint64_t>(seconds * 1e9));
    return result != VK_TIMEOUT;
}

void DeviceState::require_alive() const {
    if (const VkResult by = lost)
        throw Error(ErrorKind::device_lost, parts.caps.name + " was lost before (" + name_of(by) + "): start again");
}

}  // namespace vantage::gpu
