// The independent judge of a schedule: it looks at every pair of dispatches, and knows nothing of how they were ordered
// and barriers set. Barriers by what the memory holds, byte range against byte range; the order by the nodes' values.
#include "runtime/base/at.h"
#include "runtime/base/format.h"
#include "runtime/graph/schedule.h"

namespace vantage::internal {

namespace {

// The storage of an operand of a dispatch; -1 for scratch and what is absent.
int storage_of(const Graph& graph, const Dispatch& dispatch, const Operand& operand) {
    if (dispatch.node < 0 || operand.kind == Operand::scratch) return -1;
    const Node& node = at(graph.nodes(), dispatch.node);
    const std::vector<int>& ids = operand.kind == Operand::input ? node.inputs : node.outputs;
    const int id = operand.index < ids.size() ? ids[operand.index] : -1;
    return id < 0 ? -1 : graph.storage(id);
}

// Whether both use a value, and one writes it.
bool depend(const Graph& graph, const Dispatch& a, const Dispatch& b) {
    for (const Operand& first : a.launch.operands)
        for (const Operand& second : b.launch.operands) {
            if (((first.access | second.access) & Operand::writes) == 0) continue;
            const int storage = storage_of(graph, a, first);
            if (storage >= 0 && storage == storage_of(graph, b, second)) return true;
        }
    return false;
}

// Nodes are numbered in the order of the program: what two dispatches share must be used in this order.
void find_disorder(const Graph& graph, const Schedule& schedule, std::vector<std::string>& hazards) {
    const std::vector<Dispatch>& all = schedule.dispatches;
    for (std::size_t later = 0; later < all.size(); ++later)
        for (std::size_t earlier = 0; earlier < later; ++earlier)
            if (all[earlier].node > all[later].node && depend(graph, all[earlier], all[later]))
                hazards.push_back(
                    format("{} runs before {}, which must come first", all[earlier].label, all[later].label));
}

}  // namespace

std::vector<std::string> find_hazards(const Graph& graph, const Schedule& schedule) {
    std::vector<int> epoch;  // barriers before dispatch i
    int barriers = 0;
    for (const Dispatch& dispatch : schedule.dispatches) epoch.push_back(barriers += dispatch.barrier_before ? 1 : 0);

    std::vector<std::string> hazards;
    find_disorder(graph, schedule, hazards);
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
