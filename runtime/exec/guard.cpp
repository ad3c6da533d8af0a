#include "runtime/exec/guard.h"

#include <algorithm>

#include "runtime/base/at.h"
#include "runtime/base/format.h"
#include "runtime/gpu/transfer.h"

namespace vantage::internal {

namespace {

/// Index of the first word that is not poison from `first` on; as many as there are when all are.
std::size_t first_touched(std::span<const std::uint32_t> words, std::size_t first = 0) {
    while (first < words.size() && words[first] == poison) ++first;
    return first;
}

std::vector<std::uint32_t> read_words(gpu::DeviceState& device, const gpu::Buffer& buffer, std::uint64_t offset,
                                      std::uint64_t bytes) {
    std::vector<std::uint32_t> words(bytes / 4);
    gpu::download(device, buffer, offset, std::as_writable_bytes(std::span(words)));
    return words;
}

/// "h.2.scale f32 [3, 70]", the value that lies in front of this byte of the arena.
std::string value_before(const Graph& graph, const Schedule& schedule, std::uint64_t byte) {
    std::string text = "the arena's beginning";
    std::uint64_t nearest = 0;
    for (std::size_t id = 0; id < schedule.placements.size(); ++id) {
        const Placement& place = schedule.placements[id];
        if (!place.in_arena || place.offset > byte || place.offset < nearest) continue;
        nearest = place.offset;
        const Value& value = graph.value(static_cast<int>(id));
        text = name_of(graph, at(graph.nodes(), value.node)) + " " + value.type.text();
    }
    return text;
}

void check_arena(const Graph& graph, const Schedule& schedule, const PlanMemory& memory, gpu::DeviceState& device) {
    if (schedule.arena_bytes == 0) return;
    const std::vector<std::uint32_t> words = read_words(device, memory.arena, 0, schedule.arena_bytes);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> owned;  // what values own, by first byte
    for (std::size_t i = 0; i < schedule.arena_zones.size(); i += 2)
        owned.emplace_back(schedule.arena_zones[i], schedule.arena_zones[i + 1]);
    owned.emplace_back(schedule.arena_bytes, schedule.arena_bytes);
    std::ranges::sort(owned);
    std::uint64_t free_from = 0;
    for (const auto& [begin, end] : owned) {
        if (const std::size_t free = whole_words(free_from) / 4, next = begin / 4; free < next)
            if (const std::size_t touched = first_touched(std::span(words).first(next), free); touched < next)
                throw Error(
                    ErrorKind::failure,
                    format(
                        "plan: a kernel wrote to byte {} of the arena, outside of every value; in front of it lies {}",
                        4 * touched, value_before(graph, schedule, 4 * touched)));
        free_from = std::max(free_from, end);
    }
}

}  // namespace

void check_red_zones(const Graph& graph, const Schedule& schedule, const PlanMemory& memory, gpu::DeviceState& device) {
    check_arena(graph, schedule, memory, device);
    for (const auto& [id, place] : memory.places) {
        const std::uint64_t bytes = whole_words(graph.value(id).type.bytes());
        // Weights and what the caller bound have no red zone.
        if (memory.bound.count(id) != 0 || place.buffer.requested_bytes() < bytes + red_zone) continue;
        // The buffer of a state may hold more sequences than the plan has lanes: then its last bytes are the red zone.
        const std::uint64_t zone = place.buffer.requested_bytes() - red_zone;
        if (first_touched(read_words(device, place.buffer, zone, red_zone)) < red_zone / 4)
            throw Error(ErrorKind::failure, "plan: a kernel wrote past the end of " + graph.value(id).name + " " +
                                                graph.value(id).type.text());
    }
}

}  // namespace vantage::internal
