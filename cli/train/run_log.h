// The files of a training run beside its checkpoints: log.jsonl (a line for each step, evaluation and head that
// begins to follow a pattern), loss.png and loss.svg, samples.txt.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cli/train/head_log.h"
#include "cli/train/train_command.h"
#include "runtime/base/line_file.h"
#include "runtime/picture/step_chart.h"
#include "runtime/train/run_files.h"
#include "vantage/train.h"

namespace vantage::cli {

using internal::LoggedRun;
using internal::read_log;
/// Whether a run measures what it has learned: there are data for it, and it wants it.
inline bool evaluates(const TrainCommand& c, const Dataset& data) {
    return std::min(data.validation_sequences(), c.training.validation_sequences) > 0;
}
/// Whether nothing is left to do after `step` steps: a signal may cut off the evaluation after the last one.
bool is_complete(const TrainCommand& c, const Dataset& data, const LoggedRun& run, std::int64_t step);
/// The curves of runs, one below the other with a common axis, as PNG or SVG by the extension.
void draw_runs(const std::string& path, const std::vector<std::pair<std::string, LoggedRun>>& runs);

class RunLog : NotCopied {
public:
    /// In a folder that is there. Goes on behind `step` steps: what an earlier run wrote of later ones is dropped.
    /// `blocks`: of the model (Trainer::blocks).
    RunLog(const std::string& folder, std::int64_t step, std::vector<std::string> blocks);
    const LoggedRun& run() const { return run_; }
    /// Number of steps after which the last sample was written; -1: there is none.
    std::int64_t sampled() const { return sampled_; }
    void add(const TrainRecord& record);
    void add_evaluation(std::int64_t step, double loss, const std::optional<LabelQuality>& labels);
    void add_head(std::int64_t step, const HeadChange& change);
    void add_sample(std::int64_t step, const std::string& prompt, const std::string& text);
    /// Draws the curves until now.
    void draw() const;

private:
    std::string folder_;
    std::vector<std::string> blocks_;
    LoggedRun run_;
    std::int64_t sampled_ = -1;
    std::optional<internal::LineFile> lines_, samples_;
};

}  // namespace vantage::cli
