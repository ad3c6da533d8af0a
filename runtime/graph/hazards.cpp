// The independent judge of barriers: it looks at every pair of dispatches, by what the memory holds, byte range against
// byte range, and knows nothing of how barriers are set.
#include "runtime/base/format.h"
#include "runtime/graph/schedule.h"

namespace vantage::internal {

std::vector<std::string> find_hazards(const Graph& graph, const Schedule& schedule) {
    std::vector<int> epoch;  // barriers before dispatch i
    int barriers = 0;
    for (const Dispatch& dispatch : schedule.dispatches) epoch.push_back(barriers += dispatch.barrier_before ? 1 : 0);

    std::vector<std::string> hazards;
    const auto name_of_use = [&](const MemoryUse& use) {
        if (use.buffer < 0) return format("arena bytes {} to {}", use.offset, use.offset + use.bytes);
        return graph.value(use.buffer).name;
    };
    const auto count = schedule.dispatches.size();
    for (std::size_t later = 0; later < count; ++later)
        for (std::size_t earlier = later; earlier-- > 0 && epoch[earlier] == epoch[later];)
            for (const MemoryUse& first : schedule.dispatches[earlier].uses)
                for (const MemoryUse& second : schedule.dispatches[later].uses) {
                    if (!first.writes && !second.writes) continue;
                    if (first.buffer != second.buffer || first.bytes == 0 || second.bytes == 0) continue;
                    const std::uint64_t begin = std::max(first.offset, second.offset);
                    const std::uint64_t end = std::min(first.offset + first.bytes, second.offset + second.bytes);
                    if (begin >= end) continue;
                    hazards.push_back(format("{} {} {}, which {} {}, without a barrier between them",
                                             schedule.dispatches[later].label, second.writes ? "writes" : "reads",
                                             name_of_use(second), schedule.dispatches[earlier].label,
                                             first.writes ? "wrote" : "read"));
                }
    return hazards;
}

}  // namespace vantage::internal
