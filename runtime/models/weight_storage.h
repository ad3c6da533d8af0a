// Which weights of a model are stored in another type than the checkpoint's (LoadOptions::weights).
#pragma once

#include "runtime/models/config.h"
#include "vantage/graph.h"

namespace vantage {

/// Gives the matrices of `graph`, packed before, the type `wanted`: those of linear layers and of experts, and the table of
/// tokens, which may be the output layer's matrix as well. Norms, biases, positions, a router's matrix (what it decides is
/// not a matter of degree) and what is no matrix of a linear layer (convolutions) stay as they are.
/// Matrices whose rows do not divide into blocks of a quantised type stay, too: the lines that say so are returned.
std::vector<std::string> store_matrices(Graph& graph, const ModelConfig& config, DType wanted);

}  // namespace vantage
