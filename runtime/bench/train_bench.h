// The speed of training steps on drawn tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/base/internal.h"
#include "vantage/train.h"

namespace vantage::internal {

/// One row: steps of `accumulate` micro-batches of `sequences` sequences of `tokens` tokens. "1 × 512", "8 × 4 × 1024".
struct TrainTest {
    std::int64_t accumulate = 1, sequences = 1, tokens = 512;
    std::int64_t document = 0;  ///< tokens of each document, kept apart from the others; 0: sequences are not divided
    std::string name() const;
    double step_tokens() const { return static_cast<double>(accumulate * sequences * tokens); }
};

struct TrainTimes {
    std::vector<double> seconds;  ///< of each step that counts
    double compile_seconds = 0;   ///< initial weights, plans, kernels and the steps before those
    double flops_per_token = 0;   ///< forward and backward
    double loss = 0;              ///< of the last step
    std::uint64_t parameters = 0;
    std::int64_t recompute = 0;
    std::uint64_t bytes = 0;              ///< device memory of weights, gradients, optimiser and activations
    std::vector<DispatchTiming> timings;  ///< of the steps that count, with TrainOptions::profile
};

/// Of a model folder, or, where it is empty, of the text of a config.json, whose model has drawn weights. The tokens
/// are drawn once, as many as the steps read. `options` has neither steps nor sizes. Throws like Trainer, and usage for
/// models that do not learn the next token.
TrainTimes time_training(const Device& device, const std::string& folder, const std::string& config,
                         const TrainTest& test, TrainOptions options, std::int64_t warm_up, std::int64_t steps,
                         const std::function<void(std::int64_t step)>& progress);

}  // namespace vantage::internal
