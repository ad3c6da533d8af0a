#include "runtime/exec/plan_memory.h"

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/gpu/transfer.h"

namespace vantage::internal {

gpu::Buffer allocate_value(gpu::DeviceState& device, const Value& value, bool guard) {
    const std::uint64_t bytes = whole_words(value.type.bytes());
    const gpu::Buffer buffer =
        gpu::allocate(device, bytes + (guard ? red_zone : 0),
                      value.host_visible ? gpu::MemoryKind::shared : gpu::MemoryKind::device, value.name);
    if (value.data)
        gpu::upload(device, buffer, 0, value.data());
    else if (value.kind == ValueKind::state && bytes > 0)
        gpu::fill(device, buffer, 0, bytes, 0);
    if (guard) gpu::fill(device, buffer, bytes, buffer.bytes() - bytes, poison);  // allocations round up
    return buffer;
}

PlanMemory::PlanMemory(const Graph& graph, const Schedule& schedule, gpu::DeviceState& device, const Bindings* bindings,
                       bool guard) {
    if (bindings != nullptr) pending_upload = bindings->pending_upload;
    if (schedule.arena_bytes > 0) arena = gpu::allocate(device, schedule.arena_bytes, gpu::MemoryKind::device, "arena");
    std::vector<bool> used(graph.values().size(), false);
    for (const Dispatch& dispatch : schedule.dispatches)
        for (const MemoryUse& use : dispatch.uses)
            if (use.buffer >= 0) at(used, use.buffer) = true;
    for (const auto& [name, id] : graph.outputs()) at(used, graph.storage(id)) = true;
    for (int id = 0; id < static_cast<int>(graph.values().size()); ++id) {
        const Value& value = graph.value(id);
        if (value.kind == ValueKind::node || value.alias >= 0 || !at(used, id)) continue;
        if (bindings != nullptr)
            if (const auto found = bindings->buffers.find(value.name); found != bindings->buffers.end()) {
                set_place(id, {found->second});
                continue;
            }
        set_place(id, {allocate_value(device, value, guard)});
    }
}

void PlanMemory::set_place(int storage, MemoryPlace place) {
    if (const auto before = places.find(storage); before != places.end())
        begins.erase({before->second.address(), storage});
    begins.emplace(place.address(), storage);
    places[storage] = std::move(place);
}

std::optional<int> PlanMemory::other_at(const Graph& graph, int storage, std::uint64_t address,
                                        std::uint64_t bytes) const {
    auto at = begins.lower_bound({address + bytes, 0});
    while (at != begins.begin()) {  // places share nothing, so the last of the others that begins before is enough
        const auto [begin, other] = *--at;
        const std::uint64_t size = graph.value(other).type.bytes();
        if (other == storage || size == 0) continue;
        return address < begin + size ? std::optional(other) : std::nullopt;
    }
    return std::nullopt;
}

MemoryPlace PlanMemory::place_of(const Graph& graph, const Schedule& schedule, int id) const {
    const int storage = graph.storage(id);
    const Placement& placement = at(schedule.placements, storage);
    if (placement.in_arena) return {arena, placement.offset};
    const auto found = places.find(storage);
    if (found == places.end())
        throw usage_error("plan: " + graph.value(storage).name + " is not used by anything that runs");
    return found->second;
}

std::uint64_t PlanMemory::address_of(const MemoryUse& use) const {
    if (use.bytes == 0) return 0;
    return (use.buffer < 0 ? arena.address() : places.at(use.buffer).address()) + use.offset;
}

}  // namespace vantage::internal
