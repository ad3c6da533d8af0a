// The nodes that a training step ends with: they change the parameters by their gradients.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/ops/train_step.h"
#include "runtime/train/training_graph.h"
#include "vantage/graph.h"
#include "vantage/optimizer.h"

namespace vantage::internal {

/// Updates states by their gradients. `squares` is the sum of the squares of all gradients.
void update_parameters(std::span<const Tensor> parameters, std::span<const Tensor> gradients, Tensor squares,
                       const TrainState& state, const TrainingSettings& settings, SourceLocation where);
/// Nodes that are added while it lives have this block's name (block_of).
Graph::Scope block_scope(const Graph& graph, const std::string& block);
/// A weight becomes a state, which updates change.
const Value& as_state(Graph& graph, const Tensor& weight);
/// Throws usage for numbers that no optimiser takes.
void set_optimizer(TrainingSettings& settings, const OptimizerOptions& options);
/// 1 / (1 - beta^t) of both betas for t = 1 … n, [2, n]: until they are 1 in f32, which max_beta keeps short. Throws
/// usage for other betas.
std::vector<float> bias_corrections(double beta1, double beta2);

}  // namespace vantage::internal
