// Device memory of a plan: the arena of intermediates, and one buffer for every value with memory of its own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "runtime/exec/bindings.h"
#include "runtime/gpu/buffer.h"
#include "runtime/gpu/device_state.h"
#include "runtime/graph/schedule.h"

namespace vantage::internal {

constexpr std::uint32_t poison = 0xffffffffu;  ///< a NaN in every float type
constexpr std::uint64_t red_zone = 256;        ///< bytes

/// `bytes` rounded up to whole 32-bit words.
constexpr std::uint64_t whole_words(std::uint64_t bytes) { return (bytes + 3) / 4 * 4; }

/// Device memory of a value's own; a constant is uploaded, a state begins as zeros. With `guard` a red zone lies behind
/// it.
gpu::Buffer allocate_value(gpu::DeviceState& device, const Value& value, bool guard);

/// Where a value begins.
struct MemoryPlace {
    gpu::Buffer buffer;
    std::uint64_t offset = 0;
    std::uint64_t address() const { return buffer.address() + offset; }
};

/// Buffers of a plan: the arena, and one for every value outside of it that something reads or writes.
struct PlanMemory {
    gpu::Buffer arena;
    std::map<int, MemoryPlace> places;                 ///< by value id of a storage
    std::set<std::pair<std::uint64_t, int>> begins;    ///< of places: address and value id
    std::set<int> bound;                               ///< those that Plan::bind set
    std::shared_ptr<const Background> pending_upload;  ///< of buffers that were bound

    PlanMemory() = default;
    PlanMemory(const Graph& graph, const Schedule& schedule, gpu::DeviceState& device, const Bindings* bindings,
               bool guard);
    void set_place(int storage, MemoryPlace place);
    /// Another value whose place shares some of these bytes.
    std::optional<int> other_at(const Graph& graph, int storage, std::uint64_t address, std::uint64_t bytes) const;
    /// Throws usage for a value that nothing that runs reads.
    MemoryPlace place_of(const Graph& graph, const Schedule& schedule, int id) const;
    std::uint64_t address_of(const MemoryUse& use) const;
    /// Waits until what was bound is full; throws why it could not be filled.
    void require_full() const {
        if (pending_upload) pending_upload->wait();
    }
};

}  // namespace vantage::internal
