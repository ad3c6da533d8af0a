// Submits work to the device's queue and waits for it. A timeline semaphore counts the submissions.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/gpu/vulkan_calls.h"

namespace vantage::gpu {

class DeviceState;
class Recording;

/// Submits recordings in order as one submission, which begins when `waits` are signalled. Returns the value that the
/// device's timeline reaches when it is done. The recordings must have ended. Thread-safe.
std::uint64_t submit(DeviceState& device, std::span<const Recording* const> recordings,
                     std::span<const VkSemaphoreSubmitInfo> waits = {});
inline std::uint64_t submit(DeviceState& device, const Recording& recording) {
    const Recording* one = &recording;
    return submit(device, {&one, 1});
}
/// Submits a command buffer that another part of the program has recorded (the viewer's drawing). In addition to the
/// timeline it waits for and signals the given semaphores.
std::uint64_t submit(DeviceState& device, VkCommandBuffer commands, std::span<const VkSemaphoreSubmitInfo> waits,
                     std::span<const VkSemaphoreSubmitInfo> signals);
/// Waits until the timeline reaches `value`. Throws interrupted after Ctrl-C when `interruptible`, and device_lost
/// after `timeout_seconds`. 0 is the default: VANTAGE_TIMEOUT, else 60 on a GPU and 600 on a CPU device.
void wait(DeviceState& device, std::uint64_t value, bool interruptible = true, double timeout_seconds = 0);
/// Seconds that this thread has spent in `wait` so far.
double seconds_waited();
/// The value that the timeline has reached, without waiting.
std::uint64_t reached(DeviceState& device);
/// Waits for all submitted work, for a short time only where a signal ends the program. False: it still runs, and what
/// it uses must not be freed.
bool wait_idle(DeviceState& device) noexcept;

}  // namespace vantage::gpu
