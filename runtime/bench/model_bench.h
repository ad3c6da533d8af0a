// How fast a model runs: prompts (pp) and tokens that are drawn one by one (tg), as llama-bench calls them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/bench/report.h"
#include "vantage/batch.h"

namespace vantage {

/// One row: "pp512" reads a prompt of 512 tokens and draws one, "tg128" draws 128, "pp512 @ d4096" does so behind 4096
/// tokens that have run before, "pp512 x4" in four sequences at once.
struct ModelTest {
    bool prompt = true;
    std::int64_t tokens = 0, depth = 0, sequences = 1;
    std::string name() const;
    /// Of a sequence, with the token that a prompt's run draws or that drawing begins with.
    std::int64_t context() const { return depth + tokens + 1; }
};

struct ModelTimes {
    std::vector<double> seconds;  ///< by repeat
    double tokens = 0;            ///< of a repeat, all sequences together
    double compile_seconds = 0;   ///< plans, kernels and the first run, before what is timed
    double host_seconds = 0;      ///< of a drawn token of all sequences: what the host did beside waiting
    double cpu_seconds =
        0;  ///< of the process in a repeat, all threads together: what a busy machine does not change much
    std::vector<DispatchTiming> dispatches;  ///< of all that ran, with SessionOptions::profile
    std::uint64_t peak_bytes =
        0;  ///< of device memory while the test ran: weights, states, caches, intermediates, staging
    /// Mean and standard deviation of the repeats' rates.
    Spread tokens_per_second() const;
    double median() const;  ///< of the rates
};

/// Throws usage for a test that the model cannot run.
void require_possible(const Model& model, const ModelTest& test);
/// Runs the test once to warm up and `repeats` times for the clock. Tokens are random ones, the same in every repeat; end tokens
/// end nothing. Of an encoder the prompt is one run of it, of an encoder–decoder what its encoder reads. Throws as
/// require_possible and as Batch.
ModelTimes time_model(const Model& model, const ModelTest& test, const SessionOptions& options, int repeats);

}  // namespace vantage
