// Small sums over rows of vectors, and probabilities, for what commands print.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/models/config.h"

namespace vantage::cli {

/// The mean of all rows of `width`.
std::vector<float> mean_rows(std::span<const float> rows, std::int64_t width);
/// softmax of logits.
std::vector<double> probabilities(std::span<const float> logits);
/// What a classification's logits say: probabilities of labels, each by itself or together, or the numbers themselves.
std::vector<double> label_values(const ModelConfig& config, std::span<const float> logits);
/// The `count` largest, by index, the first of equal ones first.
std::vector<std::size_t> largest(std::span<const double> values, std::size_t count);

}  // namespace vantage::cli
