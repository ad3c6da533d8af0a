// A plan's parts; for plan.cpp (compiling, running, checking) and plan_values.cpp (reading, writing, binding).
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/exec/custom_kernel.h"
#include "runtime/exec/plan_memory.h"
#include "runtime/exec/recorder.h"
#include "vantage/plan.h"

namespace vantage {

struct Plan::State {
    Graph graph;
    Device device;
    CompileOptions options;
    std::size_t values_given;  // values of the graph as the caller gave it
    std::vector<std::string> fused = {};
    Schedule schedule = {};
    PlanMemory memory = {};
    std::unique_ptr<Recorder> recorder = {};
    std::map<int, int> unwritten = {};  // inputs and weights without contents: the first segment that reads each
    std::vector<CustomKernel::State*> reloadable = {};  // kernels that come from files
    bool ran = false;

    State(Graph g, Device d, const CompileOptions& o);
    void compile(const Bindings* bindings);
    void find_unwritten(const Bindings* bindings);
    /// Throws usage naming all inputs and weights that a run of these segments reads and that were never written.
    void require_written(std::span<const int> segments) const;

    /// The value of this name; throws usage when there is none.
    int named(const std::string& name) const;
    /// The same of a value that can be written or bound: not computed by the plan.
    int writable(const std::string& name, const char* deed) const;
    /// A value's type as the graph declared it, also where the plan keeps it transposed.
    TensorType declared(int id) const;
    void upload(int id, std::span<const std::byte> bytes);
    void upload(int id, const HostTensor& tensor);
    std::vector<std::byte> download(int id, std::uint64_t bytes, std::uint64_t from = 0) const;
    HostTensor host(int id) const;
    void mark_written(int id) { unwritten.erase(graph.storage(id)); }
    void bind(const std::string& name, MemoryPlace place, std::uint64_t bytes);

    /// Takes new versions of kernels whose files have changed, where they compile and agree with their references.
    void reload();
    void find_reloadable();
    void use_module(const OpDef& op, const SpirvModule& module);

    std::vector<int> all_segments() const;
    std::vector<Divergence> check_node(std::size_t index);
};

}  // namespace vantage
