// Files of a training run beside its checkpoints.
//   DIR/run.json     settings that may change when the run goes on
//   DIR/log.jsonl    a line for each step, each evaluation and each head that begins to follow a pattern
//   DIR/heads.jsonl  a line for each evaluation: what each head attends to
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/json.h"
#include "vantage/train.h"

namespace vantage::internal {

struct RunSettings {
    std::int64_t eval_every = 0, sample_every = 0, save_every = 0, keep = 1, patience = 0;
    std::string prompt;  ///< of samples
    bool log_heads = false, rollback = false;
    std::string probe;  ///< the text that heads read; empty: drawn tokens
    /// Evaluations of earlier steps were of other data, and are not compared with later ones.
    std::int64_t evaluations_from = 0;
};
Json to_json(const RunSettings& settings);
/// Throws bad_file.
RunSettings run_settings_of(const JsonFields& fields);

/// What log.jsonl has of a run; NaN where a line has no number, or one beyond f32.
struct LoggedRun {
    std::vector<double> steps, losses, norms, rates, evaluation_steps, evaluations;
    double tokens = NAN;  ///< that were read until the last step
};
/// The checkpoint with the lowest loss of an evaluation.
struct BestCheckpoint {
    std::int64_t step = 0;
    double loss = 0;
};
/// Of these checkpoints by step, after step `from`; nothing where none of them was evaluated.
std::optional<BestCheckpoint> best_checkpoint(const LoggedRun& run,
                                              const std::map<std::int64_t, std::string>& checkpoints,
                                              std::int64_t from = 0);
/// Lines of the log.
Json log_line(const TrainRecord& record, const std::vector<std::string>& blocks);
Json log_line(std::int64_t step, double evaluation);
void take_line(LoggedRun& run, const Json& line);
/// The text of a log. Throws bad_file, also where it is not a file: a device or a pipe may have no end.
std::string read_log_file(const std::string& path);
/// Returns the lines of steps before `before` as they are, and calls `take` with each. What is behind a damaged line,
/// at which `take` may throw bad_file, is left out, with a warning unless it is the last one, which a process that was
/// killed did not complete.
std::string read_log_lines(const std::string& path, std::int64_t before,
                           const std::function<void(const JsonFields& line)>& take);
/// All of a log. Throws bad_file where there are no steps.
LoggedRun read_log(const std::string& path);

/// What heads.jsonl has of a head: shares of its attention by step (HeadStatistics), and the id of its last pattern.
struct LoggedHead {
    std::vector<double> steps, previous, induction;
    std::string pattern;
};
using LoggedHeads = std::map<std::pair<std::int64_t, std::int64_t>, LoggedHead>;  ///< by layer and head
/// Adds a line {"step", "heads": [{"layer", "head", "previous", "induction", "pattern"}]}: all of it, or throws
/// bad_file.
void take_heads(LoggedHeads& heads, const JsonFields& line);

}  // namespace vantage::internal
