// Compares every node of a model's plans with its reference on one input.
#pragma once

#include "cli/shared/model_input.h"
#include "runtime/exec/node_dump.h"

namespace vantage::cli {

struct NodeCheck {
    std::size_t nodes = 0;  ///< compared
    std::int64_t rows = 0;  ///< rows of the plan that diverged, else of the last plan
    std::optional<Divergence> diverged;
    std::string text() const;
};

/// Runs the plans of the prompt and of one generated token, node by node. The reference of a node takes the values that
/// the device has computed so far. Stops at the first node that differs.
NodeCheck check_nodes(const Model& model, const ModelInput& input, SessionOptions options);

/// Runs the plans up to a node, and returns what it was given and what it left. `name`: "h.3.matmul", the first of this
/// name in the first plan that has it, or "h.3.matmul:2", the third. Throws usage with the names that there are.
NodeDump run_chosen_node(const Model& model, const ModelInput& input, SessionOptions options, const std::string& name);

}  // namespace vantage::cli
