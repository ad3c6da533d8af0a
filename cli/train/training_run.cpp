#include "cli/train/training_run.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "cli/shared/commands.h"
#include "cli/shared/output.h"
#include "cli/shared/profile.h"
#include "cli/shared/step_options.h"
#include "cli/shared/terminal_page.h"
#include "runtime/base/clock.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/log.h"
#include "runtime/base/options.h"
#include "runtime/bench/roofs.h"
#include "runtime/train/checkpoint_folder.h"
#include "viewer/data/training_snapshots.h"

namespace vantage::cli {

namespace {

namespace fs = std::filesystem;

std::string duration_text(double seconds) {
    const auto all = static_cast<std::int64_t>(seconds);
    if (all >= 3600) return format("{}:{:02}:{:02}", all / 3600, all / 60 % 60, all % 60);
    return format("{}:{:02}", all / 60, all % 60);
}

// FLOPs per second of matrix products, as `vantage bench roofs` measured them; 0 where it did not.
double saved_roof(const Caps& caps, Precision precision) {
    const auto roofs = load_roofs(caps, roofs_path(caps, cache_directory()));
    if (!roofs) return 0;
    const double matrix = precision == Precision::f16 ? roofs->arithmetic_gflops(Arithmetic::matrix, "f16") : 0;
    return 1e9 * std::max(matrix, roofs->arithmetic_gflops(Arithmetic::f32));
}

}  // namespace

TrainingRun::TrainingRun(const TrainCommand& command, const Device& device, Trainer& trainer, const Dataset& data,
                         Probe* probe, view::TrainingSnapshots* snapshots)
    : c_(command),
      device_(device),
      trainer_(trainer),
      data_(data),
      probe_(probe),
      snapshots_(snapshots),
      log_(command.output, trainer.step(), trainer.blocks()),
      begun_(trainer.step()) {
    if (begun_ > 0) saved_ = command.output + "/" + checkpoint_name(begun_);
    const TrainOptions& o = command.training;
    tokens_ = trainer.step() * o.accumulate * o.sequences * data.context();
    // Operations are counted with the keys of other documents, which kernels leave out.
    roof_ = command.dataset.separate_documents ? 0 : saved_roof(device.caps(), o.precision);
    for (std::size_t i = 0; i < log_.run().evaluations.size(); ++i)
        if (log_.run().evaluation_steps[i] >= static_cast<double>(c_.evaluations_from))
            note_evaluation(log_.run().evaluations[i]);
    for (const double loss : log_.run().losses) static_cast<void>(level_.diverges(loss));
    if (!log_.run().losses.empty()) loss_ = log_.run().losses.back();
    find_best();  // a process that was killed, and a rollback, leave another link
    if (probe_ != nullptr) heads_.emplace(command.output, trainer.step());
}

void TrainingRun::summarise() const {
    if (c_.json || common().quiet) return;
    const TrainOptions& o = c_.training;
    const auto step_tokens = static_cast<double>(o.sequences * o.accumulate * data_.context());
    const Page page;
    print_line("{}  {} parameters, {:.3g} MFLOP per token", page.bold("model "),
               count_text(static_cast<double>(trainer_.parameters())), trainer_.flops_per_token() / 1e6);
    print_line("{}  {}: {} tokens in {} {}; validation {} tokens", page.bold("data  "),
               escape_controls(data_.description()), count_text(static_cast<double>(data_.tokens())),
               count_text(static_cast<double>(data_.documents())), c_.documents,
               count_text(static_cast<double>(data_.validation_tokens())));
    print_line("{}  {} × {} × {} = {} tokens; {} steps = {} tokens, {:.2g} epochs", page.bold("step  "), o.accumulate,
               o.sequences, data_.context(), count_text(step_tokens), o.steps,
               count_text(step_tokens * static_cast<double>(o.steps)),
               static_cast<double>(o.sequences * o.accumulate * o.steps) / static_cast<double>(data_.sequences()));
    if (c_.divided)
        print_line("{}  divided into {} micro-batches, because these fit into the memory", page.bold("batch "),
                   o.accumulate);
    print_line("{}  {} of weights, gradients and optimiser; {} of activations; {}", page.bold("memory"),
               bytes_text(trainer_.bytes()), bytes_text(trainer_.step_bytes()), recomputed_text(trainer_.recompute()));
    print_line("{}  {}", page.bold("output"), escape_controls(c_.output));
    std::fflush(stdout);
}

std::string TrainingRun::train() {
    const EndDeferred what_was_learned_is_saved;
    std::string ended;
    if (c_.rollback && level_.above() >= internal::LossLevel::steps)
        roll_back(trainer_.step() - level_.above(), trainer_.step(),
                  format("the loss was above {:.3g} in the last {} steps", level_.limit(), level_.above()));
    if (c_.sample_every > 0 && trainer_.step() == 0) sample(0);
    if (heads_) heads_->begin(probe_->read());
    if (snapshots_ != nullptr) snapshots_->add({.step = trainer_.step()});
    make_up();
    ended = lost_patience();  // the run that goes on had ended by it
    if (!ended.empty()) trainer_.stop();
    while (const auto record = trainer_.next()) {
        if (profiling()) note_dispatches(device_, trainer_.take_timings());
        log_.add(*record);
        if (c_.unfinished) c_.unfinished->finish();
        show(*record);
        check_divergence(*record, !ended.empty());
        const std::int64_t done = record->step + 1;
        const bool last = done == trainer_.steps();
        const bool end = last || (!ended.empty() && done == trainer_.step());
        if (end || (due(c_.watch_every, done) && may_show_heads())) show_heads(*record);
        if (due(c_.eval_every, done) || last) evaluate(done);
        if (due(c_.sample_every, done)) sample(done);
        if (last)
            save();
        else if (due(c_.save_every, done) || is_best())
            save_for_now();
        if (!ended.empty()) continue;  // what was submitted before
        ended = lost_patience();
        if (ended.empty() && c_.minutes > 0 && seconds_now() - c_.begin > 60 * c_.minutes)
            ended = format("{:g} minutes are over", c_.minutes);
        if (!ended.empty()) trainer_.stop();
    }
    if (snapshots_ != nullptr) snapshots_->finish();
    if (ended.empty() || trainer_.step() == begun_) return ended;
    if (evaluated_ != trainer_.step()) evaluate(trainer_.step());
    save();
    return ended;
}

// What was due after the step that the run goes on from, and is missing: a signal ended the run meanwhile.
void TrainingRun::make_up() {
    const std::int64_t done = trainer_.step();
    if (done == 0) return;
    const std::vector<double>& evaluated = log_.run().evaluation_steps;
    const bool last = done == trainer_.steps(),
               is_evaluated = !evaluated.empty() && evaluated.back() == static_cast<double>(done - 1);
    if (is_evaluated) {
        evaluated_ = done;
    } else if (due(c_.eval_every, done) || last) {
        evaluate(done);
        find_best();
        draw();
    }
    if (due(c_.sample_every, done) && log_.sampled() < done) sample(done);
}

// Why the run ends before its last step; empty: it does not.
std::string TrainingRun::lost_patience() const {
    if (c_.patience == 0 || worse_ < c_.patience) return {};
    return format("no better validation loss in {} evaluations", worse_);
}

void TrainingRun::save() {
    const InterruptsDeferred whole;
    save_checkpoint();
    draw();
}

std::string TrainingRun::save_checkpoint() {
    const InterruptsDeferred whole;
    progress_.clear();
    save_failed_ = true;
    const std::string path = trainer_.save(c_.output);
    if (c_.unfinished) c_.unfinished->finish();
    find_best();
    saved_ = path, save_failed_ = false;
    remove_old();
    return saved_;
}

void TrainingRun::draw() {
    log_.draw();
    if (heads_) heads_->draw();
}

void TrainingRun::save_for_now() {
    try {
        save();
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::bad_file) throw;
        save_failed_ = false;  // what ends the run later is worth another try
        progress_.clear();
        log_message(LogLevel::warning, format("step {} is not saved, or not all of it: {}; the training goes on",
                                              trainer_.step(), error.what()));
    }
}

void TrainingRun::check_divergence(const TrainRecord& r, bool ends) {
    if (!level_.diverges(r.loss)) return;
    progress_.clear();
    const std::string found =
        format("step {}: the loss was above {:.3g} for {} steps, and was {:.3g} before; norm {:.3g}, lr {:.3g}",
               r.step + 1, level_.limit(), internal::LossLevel::steps, level_.best(), r.norm, r.rate);
    if (c_.rollback && !ends) return roll_back(r.step + 1 - internal::LossLevel::steps, r.step + 1, found);
    log_message(LogLevel::warning, found + ": a lower learning rate may help, or --rollback");
}

// To a checkpoint from before step `begin`, with which the loss began to be too large.
void TrainingRun::roll_back(std::int64_t begin, std::int64_t end, const std::string& found) {
    if (const auto from = checkpoint_before(c_.output, begin)) throw Diverged(from->step, end, found);
    log_message(LogLevel::warning, found + "; there is no checkpoint from before to go back to");
}

void TrainingRun::show(const TrainRecord& r) {
    // Running means of the last ten steps or so. The first step, which compiles kernels, counts for no time.
    constexpr double max_weight = 0.9;
    const auto weight = [max_weight](std::int64_t before) {
        const auto count = static_cast<double>(before);
        return std::min(count / (count + 1), max_weight);
    };
    const double tokens = static_cast<double>(r.tokens - std::exchange(tokens_, r.tokens)), of_loss = weight(shown_),
                 of_time = weight(std::max<std::int64_t>(shown_ - 1, 0));
    ++shown_;
    step_seconds_ = of_time * step_seconds_ + (1 - of_time) * r.seconds;
    const double rate = tokens / std::max(step_seconds_, 1e-9);
    loss_ = of_loss == 0 ? r.loss : of_loss * loss_ + (1 - of_loss) * r.loss;
    const std::string evaluated = std::isnan(evaluation_) ? "" : format(" (eval {:.4f})", evaluation_);
    const double left = static_cast<double>(trainer_.steps() - r.step - 1) * step_seconds_;
    const std::string of_roof =
        roof_ > 0 ? format("  {:.0f} % of roof", 100 * rate * trainer_.flops_per_token() / roof_) : "";
    const std::string line = format("step {}/{}  loss {:.4f}{}  norm {:.3g}  lr {:.3g}  {} tok/s{}  {} left{}",
                                    r.step + 1, trainer_.steps(), r.loss, evaluated, r.norm, r.rate, count_text(rate),
                                    of_roof, duration_text(left), r.skipped ? "  skipped" : "");
    progress_.show(line);
    if (!is_terminal(2) && !common().quiet && !c_.json && seconds_now() - printed_ > 10) {
        print_line("{}", line);
        std::fflush(stdout);
        printed_ = seconds_now();
    }
}

void TrainingRun::evaluate(std::int64_t done) {
    evaluated_ = done;
    if (heads_ && heads_->measured() < done - 1) measure_heads(done);
    const auto loss = trainer_.evaluate();
    if (!loss) return;
    log_.add_evaluation(done - 1, *loss, trainer_.label_quality());
    note_evaluation(*loss);
}

void TrainingRun::measure_heads(std::int64_t done) {
    const InterruptsDeferred whole;
    progress_.clear();
    for (const HeadChange& change : heads_->add(done - 1, probe_->read())) {
        log_.add_head(done - 1, change);
        if (c_.json || common().quiet) continue;
        print_line("step {}: head {} {}", done, name_of(HeadId{change.layer, change.head}), change.pattern.text());
    }
    std::fflush(stdout);
}

// Whether another snapshot would take at most 2 % of the time since the last one.
// The window also draws each of them.
bool TrainingRun::may_show_heads() const {
    constexpr double share = 0.02;
    return snapshot_seconds_ <= share * (seconds_now() - snapshot_end_);
}

void TrainingRun::show_heads(const TrainRecord& record) {
    if (snapshots_ == nullptr || snapshots_->closed()) return;
    const double begin = seconds_now();
    static_cast<void>(probe_->read());
    snapshots_->add({.step = record.step + 1, .loss = record.loss});
    snapshot_end_ = seconds_now(), snapshot_seconds_ = snapshot_end_ - begin;
}

void TrainingRun::note_evaluation(double loss) {
    evaluation_ = loss;
    worse_ = loss < best_ ? 0 : worse_ + 1;
    best_ = std::min(best_, loss);
}

// Whether the model as it is was evaluated, and is better than that of each checkpoint.
bool TrainingRun::is_best() const {
    return evaluated_ == trainer_.step() && evaluation_ < (best_checkpoint_ ? best_checkpoint_->loss : INFINITY);
}

void TrainingRun::find_best() {
    best_checkpoint_ = best_checkpoint(log_.run(), checkpoints_in(c_.output), c_.evaluations_from);
    link_checkpoint(c_.output, "best", best_checkpoint_ ? std::optional(best_checkpoint_->step) : std::nullopt);
}

void TrainingRun::sample(std::int64_t done) {
    progress_.clear();
    const std::string text = trainer_.sample(c_.prompt, 64);
    log_.add_sample(done, c_.prompt, text);
    if (c_.json || common().quiet || !samples_are_shown_) return;
    try {
        write_out(format("-- step {}\n{}{}\n", done, c_.prompt, text));
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::bad_file) throw;
        throw_if_interrupted();  // by the signal of a closed pipe
        samples_are_shown_ = false;
        log_message(LogLevel::warning,
                    format("{}; the training goes on, and samples are in samples.txt", error.what()));
    }
}

// Only after the new one is whole. A divergence is known after some steps: one from before them stays, to go back to, and
// those behind it, which are from before the steps to come.
void TrainingRun::remove_old() const {
    auto others = checkpoints_in(c_.output);
    others.erase(trainer_.step());
    auto end = others.end();
    if (c_.rollback) end = others.lower_bound(trainer_.step() - internal::LossLevel::steps);
    if (c_.rollback && end != others.begin()) --end;
    std::error_code error;
    for (auto one = others.begin(); one != end && std::ssize(others) >= c_.keep; one = others.erase(one))
        if (!best_checkpoint_ || one->first != best_checkpoint_->step) fs::remove_all(one->second, error);
}

}  // namespace vantage::cli
