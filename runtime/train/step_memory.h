// The device memory of a training step, and the step that fits into what there is.
#pragma once

#include <cstdint>

#include "runtime/train/training_graph.h"
#include "vantage/caps.h"

namespace vantage::internal {

/// Bytes that a plan of a step takes on the device, without weights that do not learn.
struct StepMemory {
    std::uint64_t parameters = 0, gradients = 0, optimizer = 0;
    std::uint64_t others = 0;       ///< inputs, tables, numbers of the run
    std::uint64_t activations = 0;  ///< what is alive at once between nodes
    std::uint64_t total() const { return parameters + gradients + optimizer + others + activations; }
};
/// `fused`: the graph of the step after fusion. `activations`: bytes of its plan's arena.
StepMemory memory_of(const TrainingStep& step, const Graph& fused, std::uint64_t activations);

/// build_training_step with the fewest activations recomputed that fit into `memory`, which is then
/// `settings.recompute`; if it is not -1, with these. Throws out_of_memory with the numbers where that does not fit.
/// With `divide` (TrainOptions::divide) `settings.sequences` and `settings.micro_batches` change, too; where
/// micro-batches of fewer than 1024 tokens are needed, all blocks are recomputed.
TrainingStep step_within(const ModelConfig& config, TrainingSettings& settings, const Caps& caps, std::uint64_t memory,
                         const Graph::WeightTypes& types = {}, bool divide = false);

}  // namespace vantage::internal
