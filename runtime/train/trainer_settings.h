// What a Trainer makes of its options: checks, and the settings of the graph.
#pragma once

#include "runtime/models/config.h"
#include "runtime/train/training_data.h"
#include "runtime/train/training_graph.h"
#include "vantage/optimizer.h"
#include "vantage/train.h"

namespace vantage::internal {

inline constexpr std::int64_t steps_ahead = 2;  ///< that a Trainer submits before it waits

/// The config itself, with the options' dropout of adapters. Throws usage for data that the model does not learn from,
/// unsupported for a model that cannot be trained.
ModelConfig trained_config(ModelConfig config, const TrainOptions& options, const TrainingData& data);
/// Throws usage where a token of the data's tokenizer is another one in the model's, which is in the file `path`.
void require_same_tokens(const TrainingData& data, const Tokenizer& tokenizer, const std::string& path);
/// The optimiser's options, for set_optimizer.
OptimizerOptions optimizer_of(const TrainOptions& options);
/// Throws usage for options that are wrong whatever the data are.
void require_possible(const TrainOptions& options, const ModelConfig& config);
/// Throws usage for options that are out of range, or that contradict each other.
TrainingSettings settings_of(const TrainOptions& options, const ModelConfig& config, const TrainingData& data);

}  // namespace vantage::internal
