// The speed of a model: prompts (pp) and token generation (tg), in the terms of llama-bench.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/bench/report.h"
#include "vantage/batch.h"

namespace vantage::internal {

/// One row. "pp512": a prompt of 512 tokens and one sampled token. "tg128": 128 sampled tokens. "pp512 @ d4096": after
/// 4096 tokens. "pp512 x4": four sequences in a batch.
struct ModelTest {
    bool prompt = true;
    std::int64_t tokens = 0, depth = 0, sequences = 1;
    std::string name() const;
    /// Tokens per sequence, including the one that a prompt's run samples or that generation starts with.
    std::int64_t context() const { return depth + tokens + 1; }
};

struct ModelTimes {
    std::vector<double> seconds;  ///< by repeat
    double tokens = 0;            ///< per repeat, all sequences
    double compile_seconds = 0;   ///< plans, kernels and the warm-up run, before the timed runs
    double host_seconds = 0;      ///< per generated token of all sequences: host time without waiting
    /// CPU time of the process per repeat, all threads. Other load on the machine changes it little.
    double cpu_seconds = 0;
    double joules = 0;                       ///< per repeat; NaN where energy_source is empty (EnergyMeter)
    std::string energy_source;               ///< as EnergyMeter::source
    std::vector<DispatchTiming> dispatches;  ///< with SessionOptions::profile
    /// Maximum device memory: weights, states, caches, intermediates, staging.
    std::uint64_t peak_bytes = 0;
    /// Mean and standard deviation of the rates.
    Spread tokens_per_second() const;
    double median() const;  ///< of the rates
};

/// Throws usage if the model does not support the test.
void require_possible(const Model& model, const ModelTest& test);
/// Runs the test once as warm-up and `repeats` times timed. Tokens are random and equal in every repeat; end tokens do
/// not stop. For an encoder, a prompt is one run; for an encoder–decoder, the encoder's text. Throws like
/// require_possible and Batch.
ModelTimes time_model(const Model& model, const ModelTest& test, SessionOptions options, int repeats);

}  // namespace vantage::internal
