// Hooks for tests: injected faults (the n-th Vulkan call fails) and counters of Vulkan calls.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/gpu/vulkan_calls.h"

namespace vantage::gpu {

/// From now on the `nth` call (counted from 1) of that kind is not made and returns `result`. nth = 0 disarms. The
/// variable VANTAGE_FAULT=POINT:NTH:RESULT arms a fault at program start, such as allocate:3:out_of_memory.
void arm_fault(FaultPoint point, std::uint64_t nth, VkResult result);
/// True when an armed fault has not occurred yet.
bool fault_armed();

/// How many recordings, allocations, submissions and different pipelines the process has made so far.
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
