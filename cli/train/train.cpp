// vantage train, vantage finetune: a model learns from texts.
#include <CLI/CLI.hpp>
#include <algorithm>
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

// Batches are given in tokens. A micro-batch holds up to 4096.
void set_batches(TrainCommand& c, const Dataset& data) {
    TrainOptions& o = c.training;
    const std::int64_t wanted = std::max<std::int64_t>(c.batch_tokens / data.context(), 1),
                       most = std::max<std::int64_t>(most_micro_tokens / data.context(), 1);
    o.accumulate = (wanted + most - 1) / most;
    o.sequences = (wanted + o.accumulate - 1) / o.accumulate;
    if (c.epochs > 0)
        o.steps = std::max<std::int64_t>(std::llround(c.epochs * static_cast<double>(data.sequences()) /
                                                      static_cast<double>(o.sequences * o.accumulate)),
                                         1);
    o.rate.schedule = schedule_named(c.schedule), o.optimizer = optimizer_named(c.optimizer);
    std::int64_t pause = 0;
    for (const std::int64_t every : {c.eval_every, c.sample_every, c.save_every}) pause = std::gcd(pause, every);
    o.pause_every = pause;
    o.profile = profiling();
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
        : c_(command), device_(device), trainer_(trainer), data_(data), log_(command.output, trainer.step()) {}

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
        while (const auto record = trainer_.next()) {
            if (profiling()) note_dispatches(device_, trainer_.take_timings());
            log_.add(*record);
            show(*record);
            const std::int64_t done = record->step + 1;
            const bool last = done == trainer_.steps();
            if (due(c_.eval_every, done) || last) evaluate(done);
            if (due(c_.sample_every, done)) sample(done);
            if (due(c_.save_every, done) || last) save();
            if (c_.patience > 0 && worse_ >= c_.patience) {
                save();
                return format("no better validation loss in {} evaluations", worse_);
            }
            if (c_.minutes > 0 && seconds_now() - begin > 60 * c_.minutes) {
                save();
                return format("{:g} minutes are over", c_.minutes);
            }
        }
        return {};
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
        evaluation_ = *loss;
        log_.add_evaluation(done - 1, *loss);
        worse_ = *loss < best_ ? 0 : worse_ + 1;
        best_ = std::min(best_, *loss);
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
        std::vector<fs::path> all;
        for (const fs::directory_entry& entry : fs::directory_iterator(c_.output))
            if (entry.path().filename().string().starts_with("step-") && fs::exists(entry.path() / "training.json"))
                all.push_back(entry.path());
        std::ranges::sort(all);
        std::error_code error;
        for (std::int64_t i = 0; i + c_.keep < std::ssize(all); ++i)
            fs::remove_all(all[static_cast<std::size_t>(i)], error);
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

std::string resume_command(const TrainCommand& c) { return format("vantage train --resume {}", c.output); }

void run_to_the_end(const TrainCommand& c, const Device& device, Trainer& trainer, const Dataset& data) {
    Run run(c, device, trainer, data);
    run.summarise();
    std::string ended;
    try {
        ended = run.train();
    } catch (const Error& error) {
        run.clear();
        if (error.kind() == ErrorKind::interrupted && trainer.step() > 0) {
            const std::string saved = run.save();
            log_message(LogLevel::warning, format("saved {}; go on with: {}", saved, resume_command(c)));
        }
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
    if (fs::exists(c.output + "/latest"))
        throw usage_error("{}: {} has a run already: go on with --resume {}, or give another folder", name, c.output,
                          c.output);
    const Device device = open_device();
    const Subject subject = subject_of(c);
    const Dataset data = read_data(c, subject.tokenizer);
    set_batches(c, data);
    Trainer trainer = c.finetunes ? Trainer::from_folder(device, common().model, data, c.training)
                                  : Trainer(device, subject.config, data, c.training, subject.tokenizer_file);
    run_to_the_end(c, device, trainer, data);
}

void go_on(TrainCommand& c, bool steps_given) {
    const SavedTraining saved = newest_checkpoint(c.resume);
    const JsonFields fields(saved.data, saved.folder + "/training.json: data");
    const std::int64_t steps = c.training.steps;
    c.data = dataset_files_of(fields), c.dataset = dataset_options_of(fields), c.training = saved.options;
    if (steps_given) c.training.steps = steps;
    c.training.profile = profiling();
    c.output = fs::exists(c.resume + "/training.json") ? fs::path(c.resume).parent_path().string() : c.resume;
    for (std::int64_t* every : {&c.eval_every, &c.sample_every, &c.save_every})
        if (*every > 0) c.training.pause_every = std::gcd(c.training.pause_every, *every);
    if (saved.step >= c.training.steps)
        throw usage_error("train: the run is complete after {} steps: give more with --steps", saved.step);
    const auto tokenizer = ModelOrigin::from_folder(saved.folder).tokenizer();
    const Device device = open_device();
    const Dataset data = read_data(c, tokenizer ? std::optional(Tokenizer::load(*tokenizer)) : std::nullopt);
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

void add_data_options(CLI::App& command, TrainCommand& c) {
    add_option(command, "--data", c.data,
               "Texts to learn from: text, .jsonl, .bin, .safetensors, or folders of them (docs/training.md)", "FILE");
    add_option(command, "--eval-data", c.dataset.validation_files, "Texts that measure what was learned", "FILE");
    add_setting(command, "--eval-share", c.dataset.validation_share,
                "Without --eval-data: the share of the documents that measure")
        ->check(number_check(" from 0 to below 1", "FRACTION", [](double x) { return x >= 0 && x < 1; }));
    command.add_flag("--blank-lines", c.dataset.blank_lines,
                     "Blank lines separate the documents of a text, in place of <|endoftext|>");
    command.add_flag("--strict-data", c.dataset.strict, "A line of a .jsonl that cannot be read is an error");
    add_option(command, "--context", c.dataset.context,
               "Tokens of a sequence. Default: the model's, up to 1024; 256 without --config", "N");
}

void add_training_options(CLI::App& command, TrainCommand& c) {
    TrainOptions& o = c.training;
    add_setting(command, "--steps", o.steps, "Steps of the optimiser");
    add_option(command, "--epochs", c.epochs, "In place of --steps: passes over the data", "X")->check(above_zero);
    add_option(command, "--minutes", c.minutes, "Ends after this time", "X")->check(above_zero);
    c.batch_tokens = c.finetunes ? 8192 : 4096;
    add_setting(command, "--batch-tokens", c.batch_tokens, "Tokens of a step");
    o.rate.rate = c.finetunes ? 2e-5 : 1e-3;
    add_setting(command, "--lr", o.rate.rate, "Learning rate, the highest of the schedule")->check(above_zero);
    add_setting(command, "--lr-floor", o.rate.floor, "What a cosine schedule ends at")->check(zero_or_more);
    add_setting(command, "--schedule", c.schedule, "constant, linear, cosine, inverse_sqrt or noam");
    o.rate.warmup = 20;
    add_setting(command, "--warmup", o.rate.warmup, "Steps in which the learning rate rises");
    add_setting(command, "--optimizer", c.optimizer, "adamw, adam or sgd");
    add_setting(command, "--beta1", o.beta1, "Adam: decay of the mean of gradients");
    add_setting(command, "--beta2", o.beta2, "Adam: decay of the mean of squared gradients");
    add_setting(command, "--eps", o.eps, "Adam: added to the root")->check(zero_or_more);
    add_setting(command, "--momentum", o.momentum, "SGD: momentum");
    command.add_flag("--nesterov", o.nesterov, "SGD: Nesterov's momentum");
    add_setting(command, "--weight-decay", o.weight_decay, "Of matrices")->check(zero_or_more);
    add_setting(command, "--max-grad-norm", o.max_norm, "Gradients are scaled down to this norm; 0: not")
        ->check(zero_or_more);
    add_setting(command, "--label-smoothing", o.label_smoothing, "Share of the target that all tokens get");
    add_setting(command, "--z-loss", o.z_loss, "Factor of the squared log-sum-exp in the loss")->check(zero_or_more);
    add_setting(command, "--seed", o.seed, "Of initial weights and of the order of the data");
}

void add_run_options(CLI::App& command, TrainCommand& c) {
    c.eval_every = 100, c.save_every = 500;
    add_setting(command, "--eval-every", c.eval_every, "Steps between evaluations; 0: only at the end");
    add_setting(command, "--eval-sequences", c.training.validation_sequences, "Sequences of an evaluation, at most");
    add_setting(command, "--sample-every", c.sample_every, "Steps between texts that the model writes; 0: none");
    add_option(command, "--prompt", c.prompt, "What these texts begin with", "TEXT");
    add_setting(command, "--save-every", c.save_every, "Steps between checkpoints; 0: only at the end");
    add_setting(command, "--keep", c.keep, "Checkpoints that are kept");
    add_setting(command, "--patience", c.patience, "Ends after so many evaluations without a better one; 0: not");
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
    add_option(command, "--vocab", c->dataset.vocabulary, "Size of the vocabulary of files with token ids", "N");
    add_setting(command, "--layers", c->layers, "Layers of the model");
    add_setting(command, "--width", c->width, "Features of the model");
    add_setting(command, "--heads", c->heads, "Attention heads of a layer");
    add_training_options(command, *c);
    add_run_options(command, *c);
    add_option(command, "--resume", c->resume, "Goes on with a run; its settings are those of the checkpoint", "DIR");
    add_option(command, "--compare", c->compared, "Draws the curves of runs in one picture", "DIR");
    add_option(command, "--compare-picture", c->picture, "Picture for --compare", "FILE");
    command.callback([c, &command] {
        if (!c->compared.empty()) return compare_runs(*c);
        if (!c->resume.empty()) return go_on(*c, command.get_option("--steps")->count() > 0);
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
