// Device memory of a plan: the arena of intermediates, and one buffer for every value with memory of its own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "runtime/exec/bindings.h"
#include "runtime/gpu/buffer.h"
#include "runtime/gpu/device_state.h"
#include "runtime/graph/schedule.h"

namespace vantage {

constexpr std::uint32_t poison = 0xffffffffu;  ///< a NaN in every float type
constexpr std::uint64_t red_zone = 256;        ///< bytes

/// `bytes` rounded up to whole 32-bit words.
constexpr std::uint64_t whole_words(std::uint64_t bytes) { return (bytes + 3) / 4 * 4; }

/// Device memory of a value's own; a constant is uploaded, a state begins as zeros. With `guard` a red zone lies behind it.
gpu::Buffer allocate_value(gpu::DeviceState& device, const Value& value, bool guard);

/// Buffers of a plan: the arena, and one for every value that has memory of its own and was not bound.
struct PlanMemory {
    gpu::Buffer arena;
    std::map<int, gpu::Buffer> buffers;                ///< by value id of a storage
    std::shared_ptr<const Background> pending_upload;  ///< of buffers that were bound

    PlanMemory() = default;
    PlanMemory(const Graph& graph, const Schedule& schedule, gpu::DeviceState& device, const Bindings* bindings,
               bool guard);
    /// Buffer and offset of a value.
    std::pair<gpu::Buffer, std::uint64_t> place_of(const Graph& graph, const Schedule& schedule, int id) const;
    std::uint64_t address_of(const MemoryUse& use) const;
    /// Waits until what was bound is full; throws why it could not be filled.
    void require_full() const {
        if (pending_upload) pending_upload->wait();
    }
};

}  // namespace vantage
