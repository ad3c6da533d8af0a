// Compares every node of a model's plans with its reference on one input.
#pragma once

#include "cli/shared/model_input.h"

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

}  // namespace vantage::cli
