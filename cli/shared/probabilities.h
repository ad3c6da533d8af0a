// Probabilities, for the output of commands.
#pragma once

#include <span>
#include <vector>

#include "runtime/models/config.h"

namespace vantage::cli {

/// softmax of logits.
std::vector<double> probabilities(std::span<const float> logits);
/// Values of the labels of a classifier: softmax, a sigmoid per label, or the logits (regression), as the config says.
std::vector<double> label_values(const ModelConfig& config, std::span<const float> logits);
/// Whether these values are the outputs of a regression, not probabilities.
bool is_regression(const ModelConfig& config);
/// Indices of the `count` largest values in descending order; of equal values the first comes first.
std::vector<std::size_t> largest(std::span<const double> values, std::size_t count);

}  // namespace vantage::cli
