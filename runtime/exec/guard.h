// Red zones: room between and behind values that no kernel may touch (CompileOptions::guard).
#pragma once

#include "runtime/exec/plan_memory.h"

namespace vantage::internal {

/// Throws `failure` when a kernel wrote outside of every value: in the arena, or behind a value with memory of its own.
void check_red_zones(const Graph& graph, const Schedule& schedule, const PlanMemory& memory, gpu::DeviceState& device);

}  // namespace vantage::internal
