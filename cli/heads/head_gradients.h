// `heads --gradients`: how the loss changes with each head's output, by one backward pass for all heads.
#pragma once

#include "cli/heads/head_ablation.h"

namespace vantage::cli {

/// As ablate, but `change` is the mean of |∂L/∂ξ| over the inputs (runtime/train/head_gradients.h). Labels are those
/// that the model predicts.
Ablation head_gradients(const Model& model, std::span<const ModelInput> inputs, const SessionOptions& options);

}  // namespace vantage::cli
