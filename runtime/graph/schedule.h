// A graph made ready for one device, still as plain data: kernels chosen, memory placed, barriers known.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/graph/choose_kernel.h"
#include "runtime/graph/op_def.h"

namespace vantage::internal {

/// The memory of a value: a range of the arena, or all of a buffer of its own (weights, constants, inputs, states).
struct Placement {
    bool in_arena = false;
    std::uint64_t offset = 0;  ///< in the arena
    std::uint64_t bytes = 0;
};

/// A stretch of memory that a dispatch touches. Buffer -1 is the arena, others are value ids of storages.
struct MemoryUse {
    int buffer = -1;
    std::uint64_t offset = 0, bytes = 0;
    bool reads = false, writes = false;
};

struct Dispatch {
    int node = -1;  ///< index into the graph's nodes; -1 for the runtime's own
    Launch launch;
    std::vector<MemoryUse>
        uses;  ///< one per operand of the launch (bytes = 0 where absent), then the grid's, if it is indirect
    bool barrier_before = false;
    bool indirect = false;  ///< the grid is read from the last of `uses`
    int segment = 0;
    std::string label;  ///< "h.3.attention/split_subgroup"
};

struct Schedule {
    std::vector<Dispatch> dispatches;
    std::vector<const Kernel*> kernels;      ///< by node; null for nodes without a use
    std::vector<Placement> placements;       ///< by value id; meaningful for storages (see Graph::storage)
    std::vector<std::uint64_t> arena_zones;  ///< sorted begin and end offsets of all placements, for red zones
    std::uint64_t arena_bytes = 0;
    std::uint64_t live_bytes = 0;   ///< the most that is alive at once: no arena can be smaller
    std::uint64_t naive_bytes = 0;  ///< what the arena would take if nothing shared memory
};

using KernelChoice = std::function<const Kernel*(const OpCall&, const Caps&)>;
struct ScheduleOptions {
    /// Tests force others.
    KernelChoice choose = [](const OpCall& call, const Caps& caps) { return choose_kernel(call, caps); };
    bool keep_all = false;       ///< every value keeps its memory to the end (checking node by node)
    std::uint64_t red_zone = 0;  ///< bytes left free around every placement
    bool reorder = true;         ///< independent dispatches run without a barrier between them
    bool barriers = true;        ///< tests leave them out to see that the hazard checker notices
};

OpCall call_of(const Graph& graph, const Node& node);
/// The call as a graph of one node, to run, check or measure it alone. Results are named result0, result1 …; operands
/// are inputs with their names, or states if a result takes them over.
Graph graph_of_call(const OpCall& call);
/// Chooses, places and orders. Throws unsupported when no kernel of an op fits the device, naming op and operands.
Schedule make_schedule(const Graph& graph, const Caps& caps, const ScheduleOptions& options = {});
/// Ids of the nodes that an output or a state depends on, in order.
std::vector<int> live_nodes(const Graph& graph);

/// Every pair of dispatches of a schedule that touch the same memory, one of them writing, without a barrier between
/// them, or use the same value in another order than their nodes have, each as one line. Shares no code with the passes
/// that order dispatches and set the barriers.
std::vector<std::string> find_hazards(const Graph& graph, const Schedule& schedule);

}  // namespace vantage::internal
