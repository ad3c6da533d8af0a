// vantage train, vantage finetune: a model learns from texts.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <numeric>

#include "cli/shared/command_options.h"
#include "cli/shared/commands.h"
#include "cli/shared/output.h"
#include "cli/shared/profile.h"
#include "cli/shared/progress.h"
#include "cli/shared/terminal_page.h"
#include "cli/train/run_log.h"
#include "runtime/base/clock.h"
#include "runtime/base/errors.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/log.h"
#include "runtime/train/checkpoint_folder.h"
#include "runtime/train/token_data.h"
#include "runtime/train/training_graph.h"
#include "vantage/train.h"

namespace vantage::cli {

namespace {

namespace fs = std::filesystem;

struct TrainCommand {
    bool finetunes = false;
    std::vector<std::string> data, compared;
    std::string config, tokenizer, output, resume, picture = "runs.png";
    std::int64_t layers = 4, width = 128, heads = 4;
    DatasetOptions dataset{.context = 0};
    TrainOptions training;
    std::int64_t batch_tokens = 0, eval_every = 0, sample_every = 0, save_every = 0, keep = 3, patience = 0;
    double epochs = 0, minutes = 0;
    std::string schedule = "cosine", optimizer = "adamw", prompt;
    bool json = false;
};

constexpr std::int64_t most_micro_tokens = 4096;

// ---- what is trained ------------------------------------------------------------------------------------------------

/// A GPT-2 of the sizes that were asked for.
std::string small_config(const TrainCommand& c, std::int64_t vocabulary) {
    if (c.heads < 1 || c.width % c.heads != 0)
        throw usage_error("train: --width {} is no multiple of --heads {}", c.width, c.heads);
    return Json{{"architectures", {"GPT2LMHeadModel"}},
                {"model_type", "gpt2"},
                {"vocab_size", vocabulary},
                {"n_positions", c.dataset.context},
                {"n_embd", c.width},
                {"n_layer", c.layers},
                {"n_head", c.heads},
                {"activation_function", "gelu_new"},
                {"layer_norm_epsilon", 1e-5},
                {"tie_word_embeddings", true}}
               .dump(2) +
           "\n";
}

struct Subject {
    std::optional<Tokenizer> tokenizer;
    std::string tokenizer_file, config;  ///< of a new model
};

Subject subject_of(TrainCommand& c) {
    Subject s;
    std::int64_t positions = 0;
    if (c.finetunes) {
        const ModelOrigin origin = ModelOrigin::from_folder(common().model);
        s.tokenizer_file = origin.tokenizer().value_or("");
        positions = origin.config().context;
    } else if (!c.config.empty()) {
        s.config = read_file(c.config, 16 << 20);
        positions = parse_model_config(s.config, c.config).context;
    }
    if (!c.tokenizer.empty()) s.tokenizer_file = c.tokenizer;
    if (fs::is_directory(s.tokenizer_file)) s.tokenizer_file += "/tokenizer.json";
    if (!s.tokenizer_file.empty()) s.tokenizer = Tokenizer::load(s.tokenizer_file);
    constexpr std::int64_t usual_context = 256;
    if (c.dataset.context == 0)
        c.dataset.context = positions > 0 ? std::min<std::int64_t>(positions, 1024) : usual_context;
    if (!s.tokenizer && c.dataset.vocabulary == 0)
        throw usage_error("{}: give --tokenizer FILE, or --vocab N for files of token ids",
                          c.finetunes ? "finetune" : "train");
    if (!c.finetunes && c.config.empty())
        s.config = small_config(c, s.tokenizer ? s.tokenizer->vocab_size() : c.dataset.vocabulary);
    return s;
}

Dataset read_data(const TrainCommand& c, const std::optional<Tokenizer>& tokenizer) {
    Progress progress;
    DatasetOptions options = c.dataset;
    options.progress = [&](const std::string& file, double share) {
        progress.show(format("reading {}: {:.0f} %", file, 100 * share));
    };
    return tokenizer ? Dataset(c.data, *tokenizer, options) : Dataset(c.data, options);
}

// What does not depend on the data.
void set_options(TrainCommand& c) {
    TrainOptions& o = c.training;
    o.rate.schedule = schedule_named(c.schedule), o.optimizer = optimizer_named(c.optimizer);
    o.pause_every = std::gcd(std::gcd(c.eval_every, c.sample_every), c.save_every);
    o.profile = profiling();
}

// Batches are given in tokens. A micro-batch holds up to 4096.
void set_batches(TrainCommand& c, const Dataset& data) {
    TrainOptions& o = c.training;
    const std::int64_t wanted = std::max<std::int64_t>(c.batch_tokens / data.context(), 1),
                       most = std::max<std::int64_t>(most_micro_tokens / data.context(), 1);
    o.accumulate = (wanted + most - 1) / most;
    o.sequences = (wanted + o.accumulate - 1) / o.accumulate;
    if (c.epochs == 0) return;
    const double steps =
        c.epochs * static_cast<double>(data.sequences()) / static_cast<double>(o.sequences * o.accumulate);
    if (!(steps <= static_cast<double>(most_steps)))
        throw usage_error("--epochs {:g} are {:.3g} steps, wanted {} at most", c.epochs, steps, most_steps);
    o.steps = std::max<std::int64_t>(std::llround(steps), 1);
}

// A text needs something to go on from, and room.
void check_samples(const TrainCommand& c, const std::optional<Tokenizer>& tokenizer) {
    if (c.sample_every == 0) return;
    if (!tokenizer) throw usage_error("--sample-every needs a tokenizer");
    const std::int64_t tokens = std::ssize(tokenizer->encode(c.prompt).ids), most = c.dataset.context - 1;
    if (tokens < 1 || tokens > most)
        throw usage_error("--sample-every needs a --prompt of 1 to {} tokens, got {}", most, tokens);
}

// ---- the folder of a run --------------------------------------------------------------------------------------------

std::string resume_command(const TrainCommand& c) { return format("vantage train --resume {}", c.output); }

// Settings that may change when a run goes on. They are kept beside the checkpoints, in run.json.
void write_run_settings(const TrainCommand& c) {
    const Json json{{"schema_version", 1},   {"eval_every", c.eval_every}, {"sample_every", c.sample_every},
                    {"prompt", c.prompt},    {"save_every", c.save_every}, {"keep", c.keep},
                    {"patience", c.patience}};
    write_file(c.output + "/run.json", json.dump(2) + "\n");
}
void read_run_settings(TrainCommand& c, const CLI::App& command) {
    const std::string path = c.output + "/run.json";
    if (!fs::exists(path)) return;
    const Json json = read_json(path);
    const JsonFields fields(json, path);
    const auto given = [&](const char* option) { return command.get_option(option)->count() > 0; };
    const auto take = [&](const char* option, const char* key, std::int64_t& setting, std::int64_t min) {
        if (!given(option)) setting = fields.integer(key, min);
    };
    take("--eval-every", "eval_every", c.eval_every, 0), take("--sample-every", "sample_every", c.sample_every, 0);
    take("--save-every", "save_every", c.save_every, 0), take("--keep", "keep", c.keep, 1);
    take("--patience", "patience", c.patience, 0);
    if (!given("--prompt")) c.prompt = fields.text("prompt");
}

// Makes the folder, if need be, and keeps other runs out of it.
std::unique_ptr<FileLock> locked_folder(const std::string& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) throw bad_file_error("cannot make the folder {}: {}", folder, error.message());
    auto lock = std::make_unique<FileLock>(folder + "/.lock");
    remove_unfinished(folder);
    return lock;
}

std::string without_slash(const std::string& path) {
    const fs::path normal = fs::path(path).lexically_normal();
    return normal.has_filename() ? normal.string() : normal.parent_path().string();
}

// ---- the run --------------------------------------------------------------------------------------------------------

std::string count_text(double count) {
    for (const auto& [unit, name] : {std::pair{1e9, "B"}, {1e6, "M"}, {1e3, "k"}})
        if (count >= unit) return format("{:.3g}{}", count / unit, name);
    return format("{:.0f}", count);
}

std::string duration_text(double seconds) {
    const auto all = static_cast<std::int64_t>(seconds);
    if (all >= 3600) return format("{}:{:02}:{:02}", all / 3600, all / 60 % 60, all % 60);
    return format("{}:{:02}", all / 60, all % 60);
}

class Run {
public:
    Run(const TrainCommand& command, const Device& device, Trainer& trainer, const Dataset& data)
        : c_(command), device_(device), trainer_(trainer), data_(data), log_(command.output, trainer.step()) {
        const TrainOptions& o = command.training;
        tokens_ = trainer.step() * o.accumulate * o.sequences * data.context();
        for (const double loss : log_.run().evaluations) note_evaluation(loss);
    }

    void summarise() const {
        if (c_.json || common().quiet) return;
        const TrainOptions& o = c_.training;
        const auto step_tokens = static_cast<double>(o.sequences * o.accumulate * data_.context());
        const Page page;
        print_line("{}  {} parameters, {:.3g} MFLOP per token", page.bold("model "),
                   count_text(static_cast<double>(trainer_.parameters())), trainer_.flops_per_token() / 1e6);
        print_line("{}  {}: {} tokens in {} documents; validation {} tokens", page.bold("data  "), data_.description(),
                   count_text(static_cast<double>(data_.tokens())), count_text(static_cast<double>(data_.documents())),
                   count_text(static_cast<double>(data_.validation_tokens())));
        print_line("{}  {} × {} × {} = {} tokens; {} steps = {} tokens, {:.2g} epochs", page.bold("step  "),
                   o.accumulate, o.sequences, data_.context(), count_text(step_tokens), o.steps,
                   count_text(step_tokens * static_cast<double>(o.steps)),
                   static_cast<double>(o.sequences * o.accumulate * o.steps) / static_cast<double>(data_.sequences()));
        print_line("{}  {:.1f} MiB of parameters, gradients and optimiser", page.bold("memory"),
                   static_cast<double>(trainer_.bytes()) / 0x1p20);
        print_line("{}  {}", page.bold("output"), c_.output);
        std::fflush(stdout);
    }

    // Returns why it ended.
    std::string train() {
        const double begin = seconds_now();
        std::string ended;
        if (c_.sample_every > 0 && trainer_.step() == 0) sample(0);
        while (const auto record = trainer_.next()) {
            if (profiling()) note_dispatches(device_, trainer_.take_timings());
            log_.add(*record);
            show(*record);
            const std::int64_t done = record->step + 1;
            const bool last = done == trainer_.steps();
            if (due(c_.eval_every, done) || last) evaluate(done);
            if (due(c_.sample_every, done)) sample(done);
            if (due(c_.save_every, done) || last) save();
            if (!ended.empty()) continue;  // what was submitted before
            if (c_.patience > 0 && worse_ >= c_.patience)
                ended = format("no better validation loss in {} evaluations", worse_);
            else if (c_.minutes > 0 && seconds_now() - begin > 60 * c_.minutes)
                ended = format("{:g} minutes are over", c_.minutes);
            if (!ended.empty()) trainer_.stop();
        }
        if (!ended.empty()) save();
        return ended;
    }

    std::string save() {
        const InterruptsDeferred whole;
        progress_.clear();
        saved_ = trainer_.save(c_.output);
        log_.draw();
        remove_old();
        return saved_;
    }
    const std::string& saved() const { return saved_; }
    double loss() const { return loss_; }
    double evaluation() const { return evaluation_; }
    void clear() { progress_.clear(); }

private:
    static bool due(std::int64_t every, std::int64_t done) { return every > 0 && done % every == 0; }

    void show(const TrainRecord& r) {
        // Running means of the last ten steps or so. The first step, which compiles kernels, counts for no time.
        constexpr double most_weight = 0.9;
        const auto weight = [most_weight](std::int64_t before) {
            const auto count = static_cast<double>(before);
            return std::min(count / (count + 1), most_weight);
        };
        const double tokens = static_cast<double>(r.tokens - std::exchange(tokens_, r.tokens)),
                     of_loss = weight(shown_), of_time = weight(std::max<std::int64_t>(shown_ - 1, 0));
        ++shown_;
        step_seconds_ = of_time * step_seconds_ + (1 - of_time) * r.seconds;
        const double rate = tokens / std::max(step_seconds_, 1e-9);
        loss_ = of_loss == 0 ? r.loss : of_loss * loss_ + (1 - of_loss) * r.loss;
        const std::string evaluated = std::isnan(evaluation_) ? "" : format(" (eval {:.4f})", evaluation_);
        const double left = static_cast<double>(trainer_.steps() - r.step - 1) * step_seconds_;
        const std::string line = format("step {}/{}  loss {:.4f}{}  norm {:.3g}  lr {:.3g}  {} tok/s  {} left{}",
                                        r.step + 1, trainer_.steps(), r.loss, evaluated, r.norm, r.rate,
                                        count_text(rate), duration_text(left), r.skipped ? "  skipped" : "");
        progress_.show(line);
        if (!is_terminal(2) && !common().quiet && !c_.json && seconds_now() - printed_ > 10) {
            print_line("{}", line);
            std::fflush(stdout);
            printed_ = seconds_now();
        }
    }

    void evaluate(std::int64_t done) {
        const auto loss = trainer_.evaluate();
        if (!loss) return;
        log_.add_evaluation(done - 1, *loss);
        note_evaluation(*loss);
    }
    void note_evaluation(double loss) {
        evaluation_ = loss;
        worse_ = loss < best_ ? 0 : worse_ + 1;
        best_ = std::min(best_, loss);
    }

    void sample(std::int64_t done) {
        progress_.clear();
        const std::string text = trainer_.sample(c_.prompt, 64);
        log_.add_sample(done, c_.prompt, text);
        if (c_.json || common().quiet) return;
        write_out(format("-- step {}\n{}{}\n", done, c_.prompt, text));
    }

    // Only after the new one is whole.
    void remove_old() const {
        auto others = checkpoints_in(c_.output);
        others.erase(trainer_.step());
        std::error_code error;
        for (; std::ssize(others) >= c_.keep; others.erase(others.begin()))
            fs::remove_all(others.begin()->second, error);
    }

    const TrainCommand& c_;
    const Device& device_;
    Trainer& trainer_;
    const Dataset& data_;
    RunLog log_;
    Progress progress_;
    std::string saved_;
    double loss_ = NAN, evaluation_ = NAN, best_ = INFINITY, step_seconds_ = 0, printed_ = 0;
    std::int64_t worse_ = 0, tokens_ = 0, shown_ = 0;
};

void save_interrupted(Run& run, const TrainCommand& c) {
    try {
        const std::string saved = run.save();
        log_message(LogLevel::warning, format("saved {}; go on with: {}", saved, resume_command(c)));
    } catch (const Error& error) {
        log_message(LogLevel::error, format("the run is not saved: {}", error.what()));
    }
}

void run_to_the_end(const TrainCommand& c, const Device& device, Trainer& trainer, const Dataset& data) {
    Run run(c, device, trainer, data);
    run.summarise();
    std::string ended;
    try {
        ended = run.train();
    } catch (const Error& error) {
        run.clear();
        if (error.kind() == ErrorKind::interrupted && trainer.step() > 0)
            save_interrupted(run, c);
        else if (!run.saved().empty())
            log_message(LogLevel::warning, format("the last checkpoint is {}", run.saved()));
        throw;
    }
    run.clear();
    if (c.json)
        return write_json({{"schema_version", 1},
                           {"steps", trainer.step()},
                           {"loss", number_or_null(run.loss())},
                           {"eval", number_or_null(run.evaluation())},
                           {"parameters", trainer.parameters()},
                           {"output", run.saved()},
                           {"ended", ended}});
    const Page page;
    if (!ended.empty()) print_line("{}  {}", page.bold("ended "), ended);
    print_line("{}  loss {:.4f}{}", page.bold("result"), run.loss(),
               std::isnan(run.evaluation()) ? "" : format(", validation {:.4f} nats per token", run.evaluation()));
    print_line("{}  vantage run -m {}/latest -p \"…\"", page.bold("try   "), c.output);
}

void begin(TrainCommand& c) {
    const char* name = c.finetunes ? "finetune" : "train";
    if (c.data.empty()) throw usage_error("{}: give the texts to learn from with --data FILE", name);
    if (c.output.empty()) throw usage_error("{}: give a folder for the result with -o DIR", name);
    c.output = without_slash(c.output);
    if (fs::exists(c.output) && !fs::is_directory(c.output))
        throw bad_file_error("cannot write {}: it is no folder", c.output);
    if (fs::exists(c.output + "/log.jsonl") || !checkpoints_in(c.output).empty())
        throw usage_error("{}: {} has a run already: go on with `{}`, or give another folder", name, c.output,
                          resume_command(c));
    set_options(c);
    const Device device = open_device();
    const Subject subject = subject_of(c);
    check_samples(c, subject.tokenizer);
    const Dataset data = read_data(c, subject.tokenizer);
    set_batches(c, data);
    const auto lock = locked_folder(c.output);
    write_run_settings(c);
    Trainer trainer = c.finetunes ? Trainer::from_folder(device, common().model, data, c.training)
                                  : Trainer(device, subject.config, data, c.training, subject.tokenizer_file);
    run_to_the_end(c, device, trainer, data);
}

// Settings that are in the checkpoint stay.
void refuse_other_settings(const CLI::App& command) {
    constexpr std::array may_change{"--resume",         "--steps",        "--minutes", "--eval-every",
                                    "--eval-sequences", "--sample-every", "--prompt",  "--save-every",
                                    "--keep",           "--patience",     "--json"};
    for (const CLI::Option* option : command.get_options())
        if (option->count() > 0 && std::ranges::find(may_change, option->get_name()) == may_change.end())
            throw usage_error("train: {} cannot change when a run goes on", option->get_name());
}

void go_on(TrainCommand& c, const CLI::App& command) {
    refuse_other_settings(command);
    c.resume = without_slash(c.resume);
    const bool one = fs::exists(c.resume + "/training.json");  // a checkpoint, not a run
    c.output = one ? fs::path(c.resume).parent_path().string() : c.resume;
    if (c.output.empty()) c.output = ".";
    if (!fs::is_directory(c.output)) throw bad_file_error("{}: no such folder", c.output);
    const auto lock = locked_folder(c.output);
    const SavedTraining saved = newest_checkpoint(c.resume);
    if (const auto all = checkpoints_in(c.output); one && !all.empty() && all.rbegin()->first > saved.step)
        throw usage_error("train: {} has checkpoints of later steps: go on from the last one, or move them away",
                          c.output);
    const JsonFields fields(saved.data, saved.folder + "/training.json: data");
    const TrainOptions given = c.training;
    c.data = dataset_files_of(fields), c.dataset = dataset_options_of(fields), c.training = saved.options;
    c.schedule = name_of(c.training.rate.schedule), c.optimizer = name_of(c.training.optimizer);
    if (command.get_option("--steps")->count() > 0) c.training.steps = given.steps;
    if (command.get_option("--eval-sequences")->count() > 0)
        c.training.validation_sequences = given.validation_sequences;
    read_run_settings(c, command);
    set_options(c);
    if (saved.step >= c.training.steps)
        throw usage_error("train: the run is complete after {} steps: give more with --steps", saved.step);
    const auto file = ModelOrigin::from_folder(saved.folder).tokenizer();
    const auto tokenizer = file ? std::optional(Tokenizer::load(*file)) : std::nullopt;
    check_samples(c, tokenizer);
    const Device device = open_device();
    const Dataset data = read_data(c, tokenizer);
    write_run_settings(c);
    Trainer trainer = Trainer::from_folder(device, saved.folder, data, c.training, true);
    run_to_the_end(c, device, trainer, data);
}

void compare_runs(const TrainCommand& c) {
    std::vector<std::pair<std::string, LoggedRun>> runs;
    for (const std::string& folder : c.compared)
        runs.emplace_back(folder, read_log(fs::is_directory(folder) ? folder + "/log.jsonl" : folder));
    draw_runs(c.picture, runs);
    if (c.json)
        return write_json(json_list(runs, [](const auto& run) {
            return Json{
                {"run", run.first},
                {"steps", run.second.steps.size()},
                {"loss", number_or_null(run.second.losses.back())},
                {"eval", run.second.evaluations.empty() ? Json() : number_or_null(run.second.evaluations.back())}};
        }));
    for (const auto& [name, run] : runs)
        print_line("{}: {} steps, loss {:.4f}{}", name, run.steps.size(), run.losses.back(),
                   run.evaluations.empty() ? "" : format(", validation {:.4f}", run.evaluations.back()));
    print_line("wrote {}", c.picture);
}

// ---- options --------------------------------------------------------------------------------------------------------

const CLI::Validator below_one =
    number_check(" from 0 to below 1", "FRACTION", [](double x) { return x >= 0 && x < 1; });
const CLI::Validator beta_check =
    number_check(" from 0 to 0.99999", "BETA", [](double x) { return x >= 0 && x <= most_beta; });
const CLI::Validator tokens_of_a_step =
    number_check(" from 1 to 1e12", "COUNT", [](double x) { return x >= 1 && x <= 1e12; });

void add_data_options(CLI::App& command, TrainCommand& c) {
    add_option(command, "--data", c.data,
               "Texts to learn from: text, .jsonl, .bin, .safetensors, or folders of them (docs/training.md)", "FILE");
    add_option(command, "--eval-data", c.dataset.validation_files, "Texts that measure what was learned", "FILE");
    add_setting(command, "--eval-share", c.dataset.validation_share,
                "Without --eval-data: the share of the documents that measure")
        ->check(below_one);
    command.add_flag("--blank-lines", c.dataset.blank_lines,
                     "Blank lines separate the documents of a text, in place of <|endoftext|>");
    command.add_flag("--strict-data", c.dataset.strict, "A line of a .jsonl that cannot be read is an error");
    add_option(command, "--context", c.dataset.context,
               "Tokens of a sequence. Default: the model's, up to 1024; 256 without --config", "N")
        ->check(one_or_more);
}

void add_training_options(CLI::App& command, TrainCommand& c) {
    TrainOptions& o = c.training;
    add_setting(command, "--steps", o.steps, "Steps of the optimiser")->check(one_or_more);
    add_option(command, "--epochs", c.epochs, "In place of --steps: passes over the data", "X")->check(above_zero);
    add_option(command, "--minutes", c.minutes, "Ends after this time", "X")->check(above_zero);
    c.batch_tokens = c.finetunes ? 8192 : 4096;
    add_setting(command, "--batch-tokens", c.batch_tokens, "Tokens of a step")->check(tokens_of_a_step);
    o.rate.rate = c.finetunes ? 2e-5 : 1e-3;
    add_setting(command, "--lr", o.rate.rate, "Learning rate, the highest of the schedule")->check(above_zero);
    add_setting(command, "--lr-floor", o.rate.floor, "What a cosine schedule ends at")->check(zero_or_more);
    add_setting(command, "--schedule", c.schedule, "constant, linear, cosine, inverse_sqrt or noam");
    o.rate.warmup = 20;
    add_setting(command, "--warmup", o.rate.warmup, "Steps in which the learning rate rises")->check(zero_or_more);
    add_setting(command, "--optimizer", c.optimizer, "adamw, adam or sgd");
    add_setting(command, "--beta1", o.beta1, "Adam: decay of the mean of gradients")->check(beta_check);
    add_setting(command, "--beta2", o.beta2, "Adam: decay of the mean of squared gradients")->check(beta_check);
    add_setting(command, "--eps", o.eps, "Adam: added to the root")->check(zero_or_more);
    add_setting(command, "--momentum", o.momentum, "SGD: momentum")->check(below_one);
    command.add_flag("--nesterov", o.nesterov, "SGD: Nesterov's momentum");
    add_setting(command, "--weight-decay", o.weight_decay, "Of matrices")->check(zero_or_more);
    add_setting(command, "--max-grad-norm", o.max_norm, "Gradients are scaled down to this norm; 0: not")
        ->check(zero_or_more);
    add_setting(command, "--label-smoothing", o.label_smoothing, "Share of the target that all tokens get")
        ->check(below_one);
    add_setting(command, "--z-loss", o.z_loss, "Factor of the squared log-sum-exp in the loss")->check(zero_or_more);
    add_setting(command, "--seed", o.seed, "Of initial weights and of the order of the data");
}

void add_run_options(CLI::App& command, TrainCommand& c) {
    c.eval_every = 100, c.save_every = 500;
    add_setting(command, "--eval-every", c.eval_every, "Steps between evaluations; 0: only at the end")
        ->check(zero_or_more);
    add_setting(command, "--eval-sequences", c.training.validation_sequences, "Sequences of an evaluation, at most")
        ->check(zero_or_more);
    add_setting(command, "--sample-every", c.sample_every, "Steps between texts that the model writes; 0: none")
        ->check(zero_or_more);
    add_option(command, "--prompt", c.prompt, "What these texts begin with", "TEXT");
    add_setting(command, "--save-every", c.save_every, "Steps between checkpoints; 0: only at the end")
        ->check(zero_or_more);
    add_setting(command, "--keep", c.keep, "Checkpoints that are kept")->check(one_or_more);
    add_setting(command, "--patience", c.patience, "Ends after so many evaluations without a better one; 0: not")
        ->check(zero_or_more);
    add_option(command, "-o,--output", c.output, "Folder for checkpoints, log.jsonl, loss.png and samples.txt", "DIR");
    command.add_flag("--json", c.json, "Print the result as one JSON object");
}

}  // namespace

void add_train(CLI::App& app) {
    auto c = std::make_shared<TrainCommand>();
    CLI::App& command = add_command(
        app, "train", "Train a model from nothing on texts",
        "Ctrl-C saves a checkpoint, with which --resume goes on as if nothing had happened.\n\n"
        "Examples:\n  vantage train --data corpus.txt --tokenizer tokenizer.json --layers 4 --width 128 -o out\n"
        "  vantage train --data corpus.jsonl --config config.json --tokenizer gpt2 --batch-tokens 65536 -o out\n"
        "  vantage train --resume out --steps 20000\n  vantage train --compare out other");
    add_data_options(command, *c);
    add_option(command, "--config", c->config, "config.json of the model; without one a GPT-2 of the sizes below",
               "FILE");
    add_option(command, "--tokenizer", c->tokenizer, "tokenizer.json, or a folder that has one", "FILE");
    add_option(command, "--vocab", c->dataset.vocabulary, "Size of the vocabulary of files with token ids", "N")
        ->check(one_or_more);
    add_setting(command, "--layers", c->layers, "Layers of the model")->check(one_or_more);
    add_setting(command, "--width", c->width, "Features of the model")->check(one_or_more);
    add_setting(command, "--heads", c->heads, "Attention heads of a layer")->check(one_or_more);
    add_training_options(command, *c);
    add_run_options(command, *c);
    add_option(command, "--resume", c->resume, "Goes on with a run; its settings are those of the checkpoint", "DIR");
    add_option(command, "--compare", c->compared, "Draws the curves of runs in one picture", "DIR");
    add_option(command, "--compare-picture", c->picture, "Picture for --compare", "FILE");
    command.callback([c, &command] {
        if (!c->compared.empty()) return compare_runs(*c);
        if (!c->resume.empty()) return go_on(*c, command);
        begin(*c);
    });
}

void add_finetune(CLI::App& app) {
    auto c = std::make_shared<TrainCommand>();
    c->finetunes = true;
    CLI::App& command = add_command(app, "finetune", "Train a model further on texts",
                                    "All parameters are trained, in f32. --resume of `vantage train` goes on.\n\n"
                                    "Examples:\n  vantage finetune -m models/gpt2 --data chats.jsonl -o out");
    add_option(command, "-m,--model", common().model, "Model folder", "DIR")->required();
    add_data_options(command, *c);
    add_training_options(command, *c);
    add_run_options(command, *c);
    command.callback([c] {
        if (fs::exists(common().model + "/tokenizer_config.json")) c->dataset.chat_folder = common().model;
        begin(*c);
    });
}

}  // namespace vantage::cli
