// What the runtime and its tests see of a plan beyond the public interface.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "runtime/base/spirv.h"
#include "runtime/exec/bindings.h"
#include "runtime/exec/node_dump.h"
#include "runtime/graph/schedule.h"
#include "vantage/plan.h"

namespace vantage::internal {

struct PlanAccess {
    /// A plan that takes memory by name from `bindings`, shared with other plans; values without an entry get memory of
    /// their own.
    static Plan make(Graph graph, const Device& device, const CompileOptions& options,
                     const std::shared_ptr<const Bindings>& bindings);
    static const Schedule& schedule(const Plan& plan);
    /// A node's call and launches, without operands and results.
    static NodeDump describe(const Plan& plan, int node);
    /// Runs everything node by node up to this node, and returns what it was given and what it left.
    static NodeDump run_up_to(Plan& plan, int node);
    /// Runs everything node by node, and returns what these nodes were given and left, in the order in which they ran.
    static std::vector<NodeDump> run_keeping(Plan& plan, std::span<const int> nodes);
    /// Lets the launches of a node run these modules, one for each.
    static void use_modules(Plan& plan, int node, std::span<const SpirvModule* const> modules);
};

/// What Plan::find_not_finite has found, for the end of a message: ": the first such result is that of node …", or "".
std::string first_place(const std::optional<Divergence>& found);

}  // namespace vantage::internal
