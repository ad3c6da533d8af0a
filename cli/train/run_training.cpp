#include "cli/train/run_training.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <utility>

#include "cli/shared/commands.h"
#include "cli/shared/loaded_model.h"
#include "cli/shared/output.h"
#include "cli/shared/terminal_page.h"
#include "cli/train/run_folder.h"
#include "cli/train/training_run.h"
#include "cli/train/watch.h"
#include "runtime/base/clock.h"
#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/base/log.h"
#include "runtime/train/checkpoint_folder.h"
#include "vantage/view.h"

namespace vantage::cli {

namespace {

// What an error ends is saved as it is, unless the error is one of the device, or of what was learned.
bool is_worth_saving(ErrorKind kind) { return kind != ErrorKind::device_lost && kind != ErrorKind::accuracy; }

void save_ended(TrainingRun& run, const TrainCommand& c) {
    try {
        const std::string saved = run.save_checkpoint();
        const std::string on = run.is_complete() ? "" : "; go on with: " + resume_command(c);
        log_message(LogLevel::warning, format("saved {}{}", saved, on));
    } catch (const std::exception& error) {
        return log_message(LogLevel::error, format("the run is not saved: {}", error.what()));
    }
    try {
        run.draw();
    } catch (const std::exception& error) {
        log_message(LogLevel::warning, error.what());
    }
}

void print_result(const TrainCommand& c, const Trainer& trainer, const TrainingRun& run, const std::string& ended) {
    const std::optional<LabelQuality> labels = trainer.label_quality();
    const std::optional<BestCheckpoint>& best = run.best();
    if (c.json) {
        Json result = {{"schema_version", 1},
                       {"steps", trainer.step()},
                       {"loss", number_or_null(run.loss())},
                       {"eval", number_or_null(run.evaluation())},
                       {"parameters", trainer.parameters()},
                       {"output", run.saved()},
                       {"best", best ? Json(c.output + "/" + checkpoint_name(best->step)) : Json()},
                       {"best_eval", best ? Json(best->loss) : Json()},
                       {"ended", ended}};
        if (labels) result["accuracy"] = labels->accuracy, result["calibration_error"] = labels->calibration_error;
        return write_json(result);
    }
    const Page page;
    if (!ended.empty()) print_line("{}  {}", page.bold("ended "), ended);
    print_line(
        "{}  loss {:.4f}{}", page.bold("result"), run.loss(),
        std::isnan(run.evaluation()) ? "" : format(", validation {:.4f} nats per {}", run.evaluation(), c.target));
    if (best && best->step < trainer.step())
        print_line("{}  validation {:.4f}, after step {}", page.bold("best  "), best->loss, best->step);
    if (labels)
        print_line("{}  accuracy {:.1f} %, calibration error {:.1f} %", page.bold("labels"), 100 * labels->accuracy,
                   100 * labels->calibration_error);
    const bool adapts = c.training.lora || !c.adapters.empty();
    const std::string result = c.output + (best ? "/best" : "/latest");
    if (!adapts && c.input.find("-p ") != std::string::npos && !std::filesystem::exists(result + "/tokenizer.json"))
        return;  // of token ids: no text can be tried
    const std::string model = adapts ? shell_word(common().model) + " --lora " : "";
    print_line("{}  vantage {} -m {}{} {}", page.bold("try   "), c.use, model, shell_word(result), c.input);
}

void train_to_the_end(const TrainCommand& c, const Device& device, Trainer& trainer, const Dataset& data, Probe* probe,
                      view::TrainingSnapshots* snapshots) {
    TrainingRun run(c, device, trainer, data, probe, snapshots);
    run.summarise();
    std::string ended;
    try {
        ended = run.train();
    } catch (const Diverged&) {
        run.clear();
        throw;
    } catch (const Error& error) {
        run.clear();
        if (is_worth_saving(error.kind()) && run.can_save())
            save_ended(run, c);
        else if (!run.saved().empty() && error.kind() != ErrorKind::device_lost)
            log_message(LogLevel::warning, format("the last checkpoint is {}", run.saved()));
        throw;
    }
    run.clear();
    print_result(c, trainer, run, ended);
    std::fflush(stdout);  // a window may stay open for long
}

void run_to_the_end(const TrainCommand& c, const Device& device, Trainer& trainer, const Dataset& data) {
    std::optional<Probe> probe;
    if (!c.probe_tokens.empty()) probe.emplace(trainer, c.probe_tokens);
    const auto train = [&](view::TrainingSnapshots* snapshots) {
        train_to_the_end(c, device, trainer, data, probe ? &*probe : nullptr, snapshots);
    };
    if (!c.watch) return train(nullptr);
    watch_training(c.output, device, *probe, train);
}

std::int64_t newest_step(const TrainCommand& c) {
    const auto checkpoints = checkpoints_in(c.output);
    return checkpoints.empty() ? 0 : checkpoints.rbegin()->first;
}

// Rollbacks of a run.
class Rollbacks {
public:
    bool any() const { return furthest_ >= 0; }
    // Makes the checkpoint that was found the newest, and skips the batches that followed it. Throws accuracy after
    // several rollbacks without progress.
    void go_back(TrainCommand& c, const Diverged& found) {
        without_progress_ = found.from > furthest_ ? 1 : without_progress_ + 1;
        furthest_ = std::max(furthest_, found.from);
        if (without_progress_ > max_without_progress)
            throw Error(ErrorKind::accuracy,
                        format("{}; no progress after {} rollbacks: a lower learning rate may help", found.what(),
                               max_without_progress));
        const auto all = checkpoints_in(c.output);
        link_checkpoint(c.output, "latest", found.from);
        link_checkpoint(c.output, "best", std::nullopt);  // until the run that goes on knows its evaluations
        for (auto later = all.upper_bound(found.from); later != all.end(); ++later) {
            std::error_code error;
            std::filesystem::remove_all(later->second, error);
            if (error) throw bad_file_error("cannot remove {}: {}", later->second, error.message());
        }
        const std::int64_t batches = found.end - found.from;
        c.training.skipped_batches += batches;
        log_message(LogLevel::warning, format("{}; going back to step {} and skipping the {} batches that followed it",
                                              found.what(), found.from, batches));
    }

private:
    static constexpr int max_without_progress = 3;
    int without_progress_ = 0;
    std::int64_t furthest_ = -1;  // the step of the latest checkpoint that the run went back to
};

Device open_named(TrainCommand& c, const std::string& wish) {
    if (!c.watch) return Device::open(wish);
    Device device = open_for_windows(wish);
    // Seconds. The window is drawn between two submissions. A CPU device draws it on the same cores, so less often.
    c.training.submission_seconds = device.caps().is_cpu() ? 0.03 : 0.004;
    return device;
}

// A run that goes on has the micro-batches of its beginning, whatever memory is free then.
void keep_division(TrainCommand& c, const Trainer& trainer) {
    TrainOptions& o = c.training;
    const std::int64_t sequences = o.sequences * o.accumulate;
    c.divided = c.divided || trainer.accumulate() != o.accumulate;
    o.accumulate = trainer.accumulate(), o.sequences = sequences / o.accumulate, o.divide = false;
}

}  // namespace

Device open_training_device(TrainCommand& c) { return open_named(c, common().device); }

void run_training(TrainCommand& c, std::optional<Device>& device, const Dataset& data,
                  const std::function<Trainer(const Device&)>& make) {
    constexpr int max_losses = 3;
    const Caps caps = device->caps();
    std::int64_t newest = newest_step(c);
    Rollbacks rollbacks;
    c.begin = seconds_now();
    for (int losses = 0;;) {
        try {
            if (!device) device = open_again([&](const std::string& wish) { return open_named(c, wish); }, caps);
            const bool goes_on = newest > 0 && (losses > 0 || rollbacks.any());
            Trainer trainer = goes_on ? Trainer::from_folder(*device, c.output, data, c.training, true) : make(*device);
            keep_division(c, trainer);
            return run_to_the_end(c, *device, trainer, data);
        } catch (const Diverged& found) {
            rollbacks.go_back(c, found);
            newest = found.from;
            continue;
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::device_lost) throw;
            const std::int64_t before = std::exchange(newest, newest_step(c));
            losses = newest > before ? 1 : losses + 1;
            if (!c.recover || losses >= max_losses) {
                if (newest > 0)
                    log_message(LogLevel::warning,
                                format("the last checkpoint is of step {}; go on with: {}", newest, resume_command(c)));
                throw;
            }
            log_message(LogLevel::warning, format("recovering: {}", error.what()));
        }
        device.reset();
    }
}

}  // namespace vantage::cli
