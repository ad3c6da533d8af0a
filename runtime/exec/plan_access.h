// What the runtime and its tests see of a plan beyond the public interface.
#pragma once

#include <memory>

#include "runtime/exec/bindings.h"
#include "runtime/graph/schedule.h"
#include "vantage/plan.h"

namespace vantage::internal {

struct PlanAccess {
    /// A plan that takes memory by name from `bindings`, shared with other plans; values without an entry get memory of
    /// their own.
    static Plan make(Graph graph, const Device& device, const CompileOptions& options,
                     const std::shared_ptr<const Bindings>& bindings);
    static const Schedule& schedule(const Plan& plan);
};

}  // namespace vantage::internal
