// The data of `vantage explain --train`: costs, memory and dispatches of a training step, from its plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/explain/explain_figures.h"
#include "runtime/cost/cost.h"
#include "runtime/train/step_memory.h"
#include "runtime/train/training_graph.h"
#include "vantage/plan.h"

namespace vantage::cli {

/// What is asked for.
struct TrainingChoice {
    std::string config;                       ///< config.json; empty: the model of -m
    std::int64_t sequences = 0, context = 0;  ///< of a micro-batch, and tokens of each; 0: as `vantage train`
    Precision precision = Precision::f32;
    std::string recompute = "auto";
};

/// "forward".
const char* name_of(StepPhase phase);

struct PhaseFigures {
    StepPhase phase;
    std::vector<RunCost::OpCost> ops = {};
    std::size_t dispatches = 0;
    std::vector<DispatchGroup> groups = {};  ///< a layer is one group, whatever runs beside it; without barriers
    Cost total() const;
};

/// A step with another value of TrainOptions::recompute.
struct RecomputeLevel {
    std::int64_t recompute;
    double flops;         ///< of the forward and backward pass
    std::uint64_t bytes;  ///< StepMemory::total
};

struct TrainingExplanation {
    std::string name;  ///< of the model's folder or config.json
    ModelConfig config;
    TrainingSettings settings;
    std::uint64_t parameters;  ///< that are trained
    Plan plan;
    std::vector<PhaseFigures> phases;  ///< in the order of StepPhase
    StepMemory memory;
    std::vector<RecomputeLevel> levels;  ///< from nothing to all blocks, some of those between, and the step's own

    const Schedule& schedule() const;
    Cost total() const;
};
/// Compiles the step that `vantage train` would run, and does not run it. The step is not divided where the memory is
/// short. Throws usage and what a Trainer throws.
TrainingExplanation training_explanation(const Device& device, const TrainingChoice& choice);

}  // namespace vantage::cli
