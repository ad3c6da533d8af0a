// The device memory of a training step, and the step that fits into what there is.
#pragma once

#include <cstdint>

#include "runtime/train/training_graph.h"
#include "vantage/caps.h"

namespace vantage::internal {

/// Bytes that a plan of the graph takes beside its weights: states, constants, inputs, and what is alive at once
/// between nodes.
std::uint64_t plan_bytes(const Graph& graph, const Caps& caps);

/// build_training_step with the fewest activations recomputed that fit into `memory`, which is then
/// `settings.recompute`; if it is not -1, with these. Throws out_of_memory with the numbers where that does not fit.
TrainingStep step_within(const ModelConfig& config, TrainingSettings& settings, const Caps& caps, std::uint64_t memory,
                         const Graph::WeightTypes& types = {});

}  // namespace vantage::internal
