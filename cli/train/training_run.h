// A training run from its first step to its last: progress, evaluations, samples, checkpoints, and early ends.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/shared/progress.h"
#include "cli/train/head_log.h"
#include "cli/train/probe.h"
#include "cli/train/run_log.h"
#include "cli/train/train_command.h"
#include "runtime/train/loss_level.h"
#include "runtime/train/run_files.h"
#include "vantage/device.h"
#include "vantage/error.h"
#include "vantage/train.h"

namespace vantage::view {
class TrainingSnapshots;
}

namespace vantage::cli {

/// The loss has diverged (internal::LossLevel), with --rollback and a checkpoint from before.
struct Diverged : Error {
    std::int64_t from, end;  ///< the step of that checkpoint, and of the run
    Diverged(std::int64_t step, std::int64_t last, const std::string& message)
        : Error(ErrorKind::accuracy, message), from(step), end(last) {}
};

class TrainingRun {
public:
    /// `probe`: what heads read, null if they are not measured. `snapshots`: what a window shows; null: none.
    TrainingRun(const TrainCommand& command, const Device& device, Trainer& trainer, const Dataset& data, Probe* probe,
                view::TrainingSnapshots* snapshots);

    /// Prints sizes of model, data and steps.
    void summarise() const;
    /// Returns why the run ended before its last step; empty: it did not. Throws Diverged.
    std::string train();
    /// Writes a checkpoint and the pictures.
    void save();
    /// Writes a checkpoint, and returns its path.
    std::string save_checkpoint();
    /// Writes the pictures.
    void draw();
    /// Whether there are new steps to save, and it was not saving them that failed.
    bool can_save() const { return trainer_.step() > begun_ && !save_failed_; }
    /// As `save`, but before the end: a checkpoint that cannot be written, as on a full disk, is warned of.
    void save_for_now();
    const std::string& saved() const { return saved_; }  ///< the last checkpoint, also that it goes on from
    /// The checkpoint to which the link `best` points.
    const std::optional<internal::BestCheckpoint>& best() const { return best_checkpoint_; }
    double loss() const { return loss_; }              ///< running mean
    double evaluation() const { return evaluation_; }  ///< NaN: none
    bool is_complete() const { return cli::is_complete(c_, data_, log_.run(), trainer_.step()); }
    void clear() { progress_.clear(); }

private:
    void make_up();
    std::string lost_patience() const;
    static bool due(std::int64_t every, std::int64_t done) { return every > 0 && done % every == 0; }

    void show(const TrainRecord& r);
    void check_divergence(const TrainRecord& r, bool ends);
    void roll_back(std::int64_t begin, std::int64_t end, const std::string& found);
    void evaluate(std::int64_t done);
    void measure_heads(std::int64_t done);
    bool may_show_heads() const;
    void show_heads(const TrainRecord& record);
    void note_evaluation(double loss);
    bool is_best() const;
    void find_best();
    void sample(std::int64_t done);
    void remove_old() const;

    const TrainCommand& c_;
    const Device& device_;
    Trainer& trainer_;
    const Dataset& data_;
    Probe* probe_;
    view::TrainingSnapshots* snapshots_;
    RunLog log_;
    std::optional<HeadLog> heads_;
    Progress progress_;
    std::string saved_;
    std::optional<internal::BestCheckpoint> best_checkpoint_;
    bool save_failed_ = false;
    bool samples_are_shown_ = true;
    internal::LossLevel level_;
    double roof_ = 0;                                 ///< measured FLOPs per second of the device; 0: not known
    double snapshot_end_ = 0, snapshot_seconds_ = 0;  ///< of the last one
    double loss_ = NAN, evaluation_ = NAN, best_ = INFINITY, step_seconds_ = 0, printed_ = 0;
    std::int64_t worse_ = 0, tokens_ = 0, shown_ = 0;
    std::int64_t begun_;           ///< the step that it goes on from
    std::int64_t evaluated_ = -1;  ///< the step of the last evaluation
};

}  // namespace vantage::cli
