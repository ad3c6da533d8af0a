// Files of a training run beside its checkpoints.
//   DIR/run.json   settings that may change when the run goes on
//   DIR/log.jsonl  a line for each step and each evaluation
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/json.h"
#include "vantage/train.h"

namespace vantage::internal {

struct RunSettings {
    std::int64_t eval_every = 0, sample_every = 0, save_every = 0, keep = 1, patience = 0;
    std::string prompt;  ///< of samples
};
Json to_json(const RunSettings& settings);
/// Throws bad_file.
RunSettings run_settings_of(const JsonFields& fields);

/// What log.jsonl has of a run; NaN where a line has no number, or one beyond f32.
struct LoggedRun {
    std::vector<double> steps, losses, norms, rates, evaluation_steps, evaluations;
};
/// Lines of the log.
Json log_line(const TrainRecord& record);
Json log_line(std::int64_t step, double evaluation);
void take_line(LoggedRun& run, const Json& line);
/// Returns the lines of steps before `before` as they are, and adds to `run` what they say. What is behind a damaged
/// line is left out, with a warning unless it is the last one, which a process that was killed did not complete.
std::string read_log_lines(const std::string& path, std::int64_t before, LoggedRun& run);
/// All of a log. Throws bad_file where there are no steps.
LoggedRun read_log(const std::string& path);

}  // namespace vantage::internal
