// Injected faults: the n-th Vulkan call that can fail does fail, so that tests prove how the program ends.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/gpu/vk.h"

namespace vantage::gpu {

/// From now on the `nth` call (counted from 1) of that kind returns `result` instead of being made. nth = 0 disarms.
/// VANTAGE_FAULT="allocate:3:out_of_memory" (submit, wait, any; device_lost, timeout) arms the same at start-up.
void arm_fault(FaultPoint point, std::uint64_t nth, VkResult result);
/// True when an armed fault has not struck yet.
bool fault_armed();

/// Counters for tests: how often the process recorded, allocated, submitted and made a pipeline since it began.
struct CallCounts {
    std::uint64_t recordings = 0, allocations = 0, submissions = 0, pipelines = 0;
};
CallCounts call_counts();
void count_recording();
void count_allocation();
void count_submission();
/// Counts a pipeline once, however many devices make it.
void count_pipeline(const std::string& key);

}  // namespace vantage::gpu
