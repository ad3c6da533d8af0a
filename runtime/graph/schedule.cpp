#include "runtime/graph/schedule.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "runtime/base/at.h"
#include "runtime/base/format.h"
#include "runtime/graph/levels.h"
#include "runtime/graph/memory_plan.h"
#include "shaders/params/grid.h"

namespace vantage::internal {

namespace {

constexpr std::uint64_t alignment = 256;  // of every placement: enough for 16-byte loads and indirect grids
constexpr double max_growth = 1.5;        // of the arena, that fewer barriers may cost

// Builds a schedule in one pass over the live nodes, then orders its dispatches, places memory and sets barriers.
class Scheduler {
public:
    Scheduler(const Graph& graph, const Caps& caps, const ScheduleOptions& options)
        : graph_(graph), caps_(caps), options_(options) {
        schedule_.kernels.resize(graph.nodes().size());
        schedule_.placements.resize(graph.values().size());
        lifetime_of_.assign(graph.values().size(), -1);
    }

    Schedule build() {
        for (std::size_t id = 0; id < graph_.values().size(); ++id)
            if (const Value& value = graph_.value(static_cast<int>(id));
                value.kind != ValueKind::node && value.alias < 0)
                schedule_.placements[id] = {.in_arena = false,
                                            .bytes = std::max<std::uint64_t>(value.type.bytes(), 16)};
        for (int node : live_nodes(graph_)) add(node);
        set_places(order());
        if (options_.barriers) set_barriers();
        return std::move(schedule_);
    }

private:
    int now() const { return static_cast<int>(schedule_.dispatches.size()); }

    int add_lifetime(std::uint64_t bytes) {
        lifetimes_.push_back({.bytes = std::max<std::uint64_t>((bytes + 15) / 16 * 16, 16), .first = now()});
        schedule_.naive_bytes += (lifetimes_.back().bytes + alignment - 1) / alignment * alignment;
        return static_cast<int>(lifetimes_.size()) - 1;
    }

    void add(int index) {
        const Node& node = at(graph_.nodes(), index);
        const OpCall call = call_of(graph_, node);
        const Kernel* kernel = options_.choose(call, caps_);
        if (kernel == nullptr) throw Error(ErrorKind::unsupported, no_kernel(node, call), node.where);
        at(schedule_.kernels, index) = kernel;
        check_versions(node);
        for (int id : node.outputs)
            if (graph_.storage(id) == id) at(lifetime_of_, id) = add_lifetime(graph_.value(id).type.bytes());
        LaunchPlan plan = kernel->launch(call, caps_);
        std::vector<int> scratch;
        for (std::uint64_t bytes : plan.scratch) scratch.push_back(add_lifetime(bytes));
        for (Launch& launch : plan.launches) add_launch(index, kernel, std::move(launch), scratch);
    }

    // An older version of a state is lost once it was written: readers must name the newest.
    void check_versions(const Node& node) {
        for (int id : node.inputs) {
            if (id < 0 || graph_.value(graph_.storage(id)).kind != ValueKind::state) continue;
            while (graph_.value(id).kind == ValueKind::view) id = graph_.value(id).alias;
            const auto newest = newest_.find(graph_.storage(id));
            if (id != (newest == newest_.end() ? graph_.storage(id) : newest->second))
                throw Error(ErrorKind::usage,
                            name_of(graph_, node) + " reads a version of " + graph_.value(graph_.storage(id)).name +
                                " that was overwritten before",
                            node.where);
        }
        for (int id : node.outputs)
            if (graph_.value(id).alias >= 0) newest_[graph_.storage(id)] = id;
    }

    std::string no_kernel(const Node& node, const OpCall& call) const {
        std::string operands;
        for (std::size_t i = 0; i < call.inputs.size(); ++i)
            if (call.inputs[i])
                operands +=
                    format("{}{} {}", operands.empty() ? "" : ", ", call.op->operands[i], call.inputs[i]->text());
        return format("no kernel of {} fits {} ({}) on {}", node.op->name, operands, node.attrs.print(), caps_.name);
    }

    void add_launch(int index, const Kernel* kernel, Launch launch, const std::vector<int>& scratch) {
        const Node& node = at(graph_.nodes(), index);
        int grid = -1;
        if (launch.keys_per_group > 0) grid = grid_for(node, launch);
        Dispatch dispatch{.node = index,
                          .indirect = grid >= 0,
                          .segment = node.segment,
                          .label = name_of(graph_, node) + "/" + kernel->name};
        for (const Operand& operand : launch.operands) dispatch.uses.push_back(use_of(node, operand, scratch));
        if (grid >= 0) dispatch.uses.push_back(touch(grid, 12, Operand::reads));
        dispatch.launch = std::move(launch);
        schedule_.dispatches.push_back(std::move(dispatch));
    }

    // A use of an arena lifetime; the offset is filled in when memory is placed.
    static MemoryUse touch(int lifetime, std::uint64_t bytes, Operand::Access access) {
        return {.buffer = -1,
                .offset = static_cast<std::uint64_t>(lifetime),
                .bytes = bytes,
                .reads = (access & Operand::reads) != 0,
                .writes = (access & Operand::writes) != 0};
    }

    MemoryUse use_of(const Node& node, const Operand& operand, const std::vector<int>& scratch) {
        if (operand.kind == Operand::scratch) {
            const int lifetime = scratch.at(operand.index);
            return touch(lifetime, at(lifetimes_, lifetime).bytes, operand.access);
        }
        const std::vector<int>& ids = operand.kind == Operand::input ? node.inputs : node.outputs;
        const int id = operand.index < ids.size() ? ids[operand.index] : -1;
        if (id < 0) return {.buffer = -1, .bytes = 0};
        const int storage = graph_.storage(id), lifetime = at(lifetime_of_, storage);
        if (lifetime >= 0) return touch(lifetime, at(lifetimes_, lifetime).bytes, operand.access);
        if (graph_.value(storage).kind == ValueKind::node)
            throw Error(ErrorKind::failure, "schedule: " + name_of(graph_, node) + " comes before one of its operands",
                        node.where);
        return {.buffer = storage,
                .offset = 0,
                .bytes = at(schedule_.placements, storage).bytes,
                .reads = (operand.access & Operand::reads) != 0,
                .writes = (operand.access & Operand::writes) != 0};
    }

    // The lifetime that holds the grid of a launch that follows the keys; made by one dispatch per distinct grid.
    int grid_for(const Node& node, const Launch& launch) {
        const Operand& operand = launch.operands.at(static_cast<std::size_t>(launch.step));
        const int step = node.inputs.at(operand.index);
        const auto key = std::tuple(step, launch.keys_per_group, launch.groups[1], launch.groups[2]);
        if (const auto found = grids_.find(key); found != grids_.end()) return found->second;
        Launch make{.shader = "grid", .operands = {in(0), out(0)}};
        const Shape& steps = graph_.value(step).type.shape;  // [STEP_WORDS], or [sequences, STEP_WORDS]
        make.with(params::GridParams{.keys_per_group = launch.keys_per_group,
                                     .y = launch.groups[1],
                                     .z = launch.groups[2],
                                     .sequences = u32(steps.elements() / steps[-1])});
        const int lifetime = add_lifetime(12);
        Dispatch dispatch{.launch = make, .segment = node.segment, .label = "grid"};
        const int storage = graph_.storage(step);
        dispatch.uses = {{.buffer = storage, .bytes = at(schedule_.placements, storage).bytes, .reads = true},
                         touch(lifetime, 12, Operand::writes)};
        schedule_.dispatches.push_back(std::move(dispatch));
        return grids_[key] = lifetime;
    }

    // The lifetimes when the dispatches run at these times: from where the first node begins that has them to the last
    // use.
    std::vector<Lifetime> lifetimes_at(const std::vector<int>& times) const {
        const int end = times.empty() ? 0 : *std::ranges::max_element(times) + 1;
        std::vector<Lifetime> lifetimes = lifetimes_;
        for (Lifetime& lifetime : lifetimes)
            lifetime.first = lifetime.last =
                times.empty() ? 0 : times[std::min(static_cast<std::size_t>(lifetime.first), times.size() - 1)];
        for (std::size_t i = 0; i < times.size(); ++i)
            for (const MemoryUse& use : schedule_.dispatches[i].uses) {
                if (use.buffer >= 0 || use.bytes == 0) continue;
                Lifetime& lifetime = lifetimes[use.offset];
                lifetime.first = std::min(lifetime.first, times[i]), lifetime.last = std::max(lifetime.last, times[i]);
            }
        for (const auto& [name, id] : graph_.outputs())
            if (const int lifetime = at(lifetime_of_, graph_.storage(id)); lifetime >= 0)
                at(lifetimes, lifetime).last = end;
        if (options_.keep_all)
            for (Lifetime& lifetime : lifetimes) lifetime.last = end;
        return lifetimes;
    }

    // Puts the dispatches in the order of their levels where the memory that takes is worth it, and returns their
    // lifetimes, placed: with one time for a level, nothing of it shares memory and so needs a barrier inside of it.
    std::vector<Lifetime> order() {
        std::vector<Dispatch>& all = schedule_.dispatches;
        std::vector<int> written(all.size());
        std::iota(written.begin(), written.end(), 0);
        std::vector<Lifetime> plain = lifetimes_at(written);
        const std::uint64_t plain_bytes = place(plain, alignment, options_.red_zone);
        schedule_.arena_bytes = plain_bytes;
        if (!options_.reorder) return plain;
        const std::vector<Level> levels = levels_of(all);
        std::vector<int> times;
        for (const Level& level : levels) times.push_back(level.own);
        std::vector<Lifetime> levelled = lifetimes_at(times);
        const std::uint64_t bytes = place(levelled, alignment, options_.red_zone);
        if (static_cast<double>(bytes) > max_growth * static_cast<double>(plain_bytes)) return plain;
        schedule_.arena_bytes = bytes;
        std::ranges::stable_sort(written, {}, [&](int i) { return at(levels, i).node; });
        std::vector<Dispatch> sorted;
        for (int i : written) sorted.push_back(std::move(at(all, i)));
        all = std::move(sorted);
        return levelled;
    }

    void set_places(const std::vector<Lifetime>& lifetimes) {
        schedule_.live_bytes = largest_live_set(lifetimes, alignment);
        for (Dispatch& dispatch : schedule_.dispatches)
            for (MemoryUse& use : dispatch.uses)
                if (use.buffer == -1 && use.bytes > 0) use.offset = lifetimes[use.offset].offset;
        for (std::size_t id = 0; id < lifetime_of_.size(); ++id)
            if (lifetime_of_[id] >= 0) {
                const Lifetime& lifetime = at(lifetimes, lifetime_of_[id]);
                schedule_.placements[id] = {.in_arena = true, .offset = lifetime.offset, .bytes = lifetime.bytes};
            }
        for (const Lifetime& lifetime : lifetimes) {
            schedule_.arena_zones.push_back(lifetime.offset);
            schedule_.arena_zones.push_back(lifetime.offset + lifetime.bytes);
        }
    }

    static bool meet(const MemoryUse& a, const MemoryUse& b) {
        return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
    }

    // One barrier waits for everything before it, so: whenever a dispatch meets something unfinished since the last
    // one. Reads are in no read's way.
    void set_barriers() {
        std::map<int, std::vector<MemoryUse>> read, written;  // by buffer
        const auto meets = [](const std::map<int, std::vector<MemoryUse>>& unfinished, const MemoryUse& use) {
            const auto found = unfinished.find(use.buffer);
            return found != unfinished.end() &&
                   std::ranges::any_of(found->second, [&](const MemoryUse& before) { return meet(before, use); });
        };
        for (Dispatch& dispatch : schedule_.dispatches) {
            for (const MemoryUse& use : dispatch.uses)
                dispatch.barrier_before |= meets(written, use) || (use.writes && meets(read, use));
            if (dispatch.barrier_before) read.clear(), written.clear();
            for (const MemoryUse& use : dispatch.uses) (use.writes ? written : read)[use.buffer].push_back(use);
        }
    }

    const Graph& graph_;
    const Caps& caps_;
    const ScheduleOptions& options_;
    Schedule schedule_;
    std::vector<Lifetime> lifetimes_;  // `first`: the dispatch that its node begins with
    std::vector<int> lifetime_of_;     // by value id of a storage, -1 = not in the arena
    std::map<std::tuple<int, std::uint32_t, std::uint32_t, std::uint32_t>, int> grids_;
    std::map<int, int> newest_;  // by state: its newest version, where it was written
};

}  // namespace

OpCall call_of(const Graph& graph, const Node& node) {
    OpCall call{.op = node.op, .attrs = node.attrs, .where = node.where};
    for (int id : node.inputs) call.inputs.push_back(id >= 0 ? std::optional(graph.value(id).type) : std::nullopt);
    for (int id : node.outputs) call.outputs.push_back(graph.value(id).type);
    return call;
}

Graph graph_of_call(const OpCall& call) {
    Graph graph;
    std::vector<Tensor> operands;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
        if (!call.inputs[i]) {
            operands.emplace_back();
            continue;
        }
        const TensorType& type = *call.inputs[i];
        const bool updated = std::ranges::count(call.op->alias, static_cast<std::int8_t>(i)) > 0;
        const char* name = call.op->operands[i];
        operands.push_back(updated ? graph.state(name, type.shape, type.dtype)
                                   : graph.input(name, type.shape, type.dtype));
    }
    const std::vector<Tensor> results = add_call(graph, *call.op, operands, call.attrs, call.where);
    for (std::size_t i = 0; i < results.size(); ++i) graph.output(format("result{}", i), results[i]);
    return graph;
}

std::vector<int> live_nodes(const Graph& graph) {
    std::vector<bool> needed(graph.values().size(), false);
    const auto need = [&](int id) {
        for (; id >= 0; id = graph.value(id).alias) at(needed, id) = true;
    };
    for (const auto& [name, id] : graph.outputs()) need(id);
    std::vector<int> live;
    for (int i = static_cast<int>(graph.nodes().size()) - 1; i >= 0; --i) {
        const Node& node = at(graph.nodes(), i);
        const bool wanted = std::ranges::any_of(node.outputs, [&](int id) {
            return at(needed, id) || graph.value(graph.storage(id)).kind == ValueKind::state;
        });
        if (!wanted) continue;
        live.push_back(i);
        for (int id : node.inputs) need(id);
    }
    std::reverse(live.begin(), live.end());
    return live;
}

Schedule make_schedule(const Graph& graph, const Caps& caps, const ScheduleOptions& options) {
    return Scheduler(graph, caps, options).build();
}

}  // namespace vantage::internal
