// A plan's parts; for plan.cpp (compiling, running, checking) and plan_values.cpp (reading, writing, binding).
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "runtime/exec/custom_kernel.h"
#include "runtime/exec/node_dump.h"
#include "runtime/exec/plan_memory.h"
#include "runtime/exec/recorder.h"
#include "vantage/plan.h"

namespace vantage::internal {

/// A kernel from a file, as a plan uses it.
struct Reloadable {
    KernelState* kernel;
    std::set<int> segments;   // that use it
    const SpirvModule* used;  // by the plan
    const SpirvModule* seen;  // the newest version that this plan knows, used or refused
};

/// A new version of a kernel that a run tries.
struct Trial {
    Reloadable* kernel;
    const SpirvModule* before;
};

}  // namespace vantage::internal

namespace vantage {

struct Plan::State {
    Graph graph;
    Device device;
    CompileOptions options;
    std::vector<std::string> fused = {};
    Schedule schedule = {};
    PlanMemory memory = {};
    std::unique_ptr<Recorder> recorder = {};
    std::map<int, std::set<int>> unwritten = {};  // inputs and weights without contents: the segments that read each
    std::vector<Reloadable> reloadable = {};
    bool ran = false;
    mutable std::map<std::string, int> stored_ids = {};  // see `stored`
    mutable std::size_t named_values = 0;                // of the graph, that stored_ids knows

    State(Graph g, const Device& d, const CompileOptions& o);
    void compile(const Bindings* bindings);
    void find_unwritten(const Bindings* bindings);
    /// Throws usage naming all inputs and weights that a run of these segments reads and that were never written.
    void require_written(std::span<const int> segments) const;

    /// The value of this name, an output before others; throws usage when there is none.
    int readable(const std::string& name) const;
    /// The same of a value that can be written or bound, others before an output: throws usage for a computed one.
    int writable(const std::string& name, const char* deed) const;
    /// The value of a tensor; throws usage for one that has no name in this plan.
    int id_of(const Tensor& tensor) const;
    int writable(const Tensor& tensor, const char* deed) const;
    std::string name(int id) const;
    /// The value with memory of its own that has this name, or -1.
    int stored(const std::string& name) const;
    int require_writable(int id, const char* deed) const;
    /// Throws usage for a weight that the plan keeps transposed: its memory is not what the graph declared.
    void require_declared(int id, const char* deed) const;
    /// A value's type as the graph declared it, also where the plan keeps it transposed.
    TensorType declared(int id) const;
    template <class T>
    void write(int id, std::span<const T> values);
    Array read(int id, Range rows) const;
    void upload(int id, std::span<const std::byte> bytes);
    void upload(int id, const HostTensor& tensor);
    std::vector<std::byte> download(int id, std::uint64_t bytes, std::uint64_t from = 0) const;
    HostTensor host(int id) const;
    void mark_written(int id) { unwritten.erase(graph.storage(id)); }
    void bind(int id, MemoryPlace place, std::uint64_t bytes);

    void find_reloadable();
    /// Changes to the new versions of the kernels of these segments, where the driver accepts them; returns the kernels
    /// that changed, with the versions before.
    std::vector<Trial> take_new_versions(std::span<const int> segments);
    /// Runs these segments node by node. A new version whose result differs from the reference is replaced by the one
    /// before, which then computes the result.
    std::uint64_t run_trial(std::span<const int> segments, std::vector<Trial> trials);
    void use_module(Reloadable& kernel, const SpirvModule& module);
    /// After an error that says nothing of the new versions: the next run tries them again.
    void undo(const std::vector<Trial>& trials);
    void refuse(const Trial& trial, const std::string& reason);
    std::uint64_t submit(std::span<const int> segments, double filled);

    std::vector<int> all_segments() const;
    /// In the order of the schedule, by which memory is shared.
    std::vector<int> scheduled_nodes() const;
    /// A node's call and launches, without operands and results.
    NodeDump describe(int node) const;
    /// Which operands to copy before the node runs: all, or only those that it overwrites.
    enum class Kept : std::uint8_t { all, overwritten };
    void keep_inputs(NodeDump& dump, int node, Kept kept) const;
    void keep_results(NodeDump& dump, int node) const;
    NodeDump run_node(int node);
    std::vector<Divergence> check_node(int node);
    /// What is not finite in the results that a node has left.
    std::optional<Divergence> not_finite(int node) const;
};

}  // namespace vantage
