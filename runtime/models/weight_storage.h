// Chooses which weights are stored in a type other than the checkpoint's (LoadOptions::weights).
#pragma once

#include <string>
#include <vector>

#include "runtime/models/config.h"
#include "vantage/graph.h"

namespace vantage::internal {

/// Changes the stored type of matrices of `graph` to `wanted`, after packing: those of linear layers and experts, and
/// the token table, which may also be the output layer. Norms, biases, positions, convolutions, adapters and router
/// matrices keep their type; a router's choice is sensitive to rounding. Matrices whose rows do not divide into blocks
/// of a quantized type also keep theirs. Returns a message for each of those.
std::vector<std::string> store_matrices(Graph& graph, const ModelConfig& config, DType wanted);

}  // namespace vantage::internal
