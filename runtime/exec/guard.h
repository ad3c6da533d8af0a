// Red zones: room between and behind values that no kernel may touch (CompileOptions::guard).
#pragma once

#include "runtime/exec/recorder.h"

namespace vantage {

constexpr std::uint32_t poison = 0xffffffffu;  ///< a NaN in every float type
constexpr std::uint64_t red_zone = 256;        ///< bytes

/// Device memory of a value's own; a constant is uploaded, a state begins as zeros. With `guard` a red zone lies behind it.
gpu::Buffer allocate_value(gpu::DeviceState& device, const Value& value, bool guard);

/// Throws `failure` when a kernel wrote outside of every value: in the arena, or behind a value with memory of its own.
void check_red_zones(const Graph& graph, const Schedule& schedule, const PlanMemory& memory, gpu::DeviceState& device);

}  // namespace vantage
