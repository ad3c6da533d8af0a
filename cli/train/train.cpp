// vantage train, vantage finetune: a model learns from texts, labels, answers or images.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "cli/shared/command_options.h"
#include "cli/shared/commands.h"
#include "cli/shared/model_images.h"
#include "cli/shared/output.h"
#include "cli/shared/profile.h"
#include "cli/shared/progress.h"
#include "cli/shared/step_options.h"
#include "cli/train/compare_runs.h"
#include "cli/train/probe.h"
#include "cli/train/run_folder.h"
#include "cli/train/run_log.h"
#include "cli/train/run_training.h"
#include "cli/train/train_options.h"
#include "runtime/base/errors.h"
#include "runtime/base/line_file.h"
#include "runtime/base/log.h"
#include "runtime/base/utf8.h"
#include "runtime/checkpoint/adapter_files.h"
#include "runtime/models/config_fields.h"
#include "runtime/train/checkpoint_folder.h"
#include "runtime/train/trainer_settings.h"
#include "runtime/train/training_data.h"
#include "vantage/train.h"

namespace vantage::cli {

namespace {

namespace fs = std::filesystem;

// ---- what is trained ------------------------------------------------------------------------------------------------

/// A GPT-2 of the sizes that were asked for.
std::string small_config(const TrainCommand& c, std::int64_t vocabulary, std::optional<std::int32_t> end_token) {
    if (c.heads < 1 || c.width % c.heads != 0)
        throw usage_error("train: --width {} is no multiple of --heads {}", c.width, c.heads);
    const Json end = end_token ? Json(*end_token) : Json();
    return Json{{"architectures", {"GPT2LMHeadModel"}},
                {"model_type", "gpt2"},
                {"vocab_size", vocabulary},
                {"n_positions", c.dataset.context},
                {"n_embd", c.width},
                {"n_layer", c.layers},
                {"n_head", c.heads},
                {"activation_function", "gelu_new"},
                {"layer_norm_epsilon", 1e-5},
                {"tie_word_embeddings", true},
                {"bos_token_id", end},
                {"eos_token_id", end}}
               .dump(2) +
           "\n";
}

// What the data contain, and how the trained model is used, follow from the config. `path`: the model's folder or
// config.json.
void take_model(TrainCommand& c, const ModelConfig& config, const std::string& path) {
    const Task task = task_of(config);
    if (task == Task::labels || task == Task::answers) c.documents = "examples";
    if (task == Task::labels) c.target = "label";
    if (task == Task::pairs) {
        c.documents = "pairs", c.target = "pair", c.input = "--labels \"…\" \"…\" --image FILE";
        if (c.log_heads)
            throw usage_error("--log-heads and --watch are for one model, and {} has two", config.architecture);
    }
    c.dataset.model = path;
    if (config.kind == ModelKind::encoder) c.use = "classify";
    if (config.sees()) c.input = "--image FILE";
    if (const ImageInput& image = config.learned_image(); image.channels > 0)
        c.dataset.read_image =
            image_reader(fs::is_directory(path) ? path : fs::path(path).parent_path().string(), image);
    if (c.sample_every > 0 && (config.kind == ModelKind::encoder || config.sees()))
        throw usage_error("--sample-every is for models that write about texts, and {} does not", config.architecture);
}

struct Subject {
    ModelConfig model;
    std::optional<Tokenizer> tokenizer;
    std::string tokenizer_file, config;  ///< of a new model
};

Subject subject_of(TrainCommand& c) {
    Subject s;
    ModelConfig& config = s.model;
    if (c.finetunes) {
        const ModelOrigin origin = ModelOrigin::from_folder(common().model, c.dataset.labels);
        s.tokenizer_file = origin.tokenizer().value_or("");
        take_model(c, config = origin.config(), common().model);
    } else if (!c.config.empty()) {
        s.config = read_file(c.config, 16 << 20);
        take_model(c, config = parse_trained_config(s.config, c.config), c.config);
    }
    if (config.is_vision() && config.towers.empty()) {
        if (c.dataset.context > 0)
            throw usage_error("--context is for texts, and {} reads images", config.architecture);
        if (!c.tokenizer.empty() || c.dataset.vocabulary > 0)
            throw usage_error("{} is for texts, and {} reads images", c.tokenizer.empty() ? "--vocab" : "--tokenizer",
                              config.architecture);
    }
    if (!c.tokenizer.empty()) s.tokenizer_file = c.tokenizer;
    if (fs::is_directory(s.tokenizer_file)) s.tokenizer_file += "/tokenizer.json";
    if (!s.tokenizer_file.empty()) s.tokenizer = Tokenizer::load(s.tokenizer_file);
    constexpr std::int64_t default_context = 256;
    if (c.dataset.context == 0)
        c.dataset.context = config.context > 0 ? std::min(config.context, max_default_context) : default_context;
    if (c.finetunes && !s.tokenizer && !config.is_vision())
        throw usage_error("finetune: {} has no tokenizer.json", common().model);
    if (!s.tokenizer && c.dataset.vocabulary == 0 && !config.is_vision())
        throw usage_error("train: give --tokenizer FILE, or --vocab N for files of token ids");
    if (!c.finetunes && c.config.empty())
        s.config = s.tokenizer ? small_config(c, s.tokenizer->vocab_size(), default_end_token(*s.tokenizer))
                               : small_config(c, c.dataset.vocabulary, c.dataset.end_token),
        config = parse_model_config(s.config, "the new model");
    return s;
}

Dataset read_data(const TrainCommand& c, const std::optional<Tokenizer>& tokenizer) {
    Progress progress;
    DatasetOptions options = c.dataset;
    options.progress = reading(progress);
    return tokenizer ? Dataset(c.data, *tokenizer, options) : Dataset(c.data, options);
}

// What does not depend on the data.
void set_options(TrainCommand& c) {
    TrainOptions& o = c.training;
    o.rate.schedule = schedule_named(c.schedule), o.optimizer = optimizer_named(c.optimizer);
    o.recompute = recompute_named(c.recompute), o.precision = precision_named(c.precision);
    o.pause_every = std::gcd(std::gcd(c.eval_every, c.sample_every), c.save_every);
    if (c.watch) o.pause_every = std::gcd(o.pause_every, c.watch_every);
    o.profile = profiling();
}

void require_micro_batches(const TrainCommand& c, std::int64_t sequences, std::int64_t tokens) {
    if (c.accumulate > sequences)
        throw usage_error("--accumulate {}: a step has only {} sequences of {} tokens", c.accumulate, sequences,
                          tokens);
    if (c.accumulate > 0 && sequences % c.accumulate != 0)
        throw usage_error("--accumulate {}: the {} sequences of {} tokens of a step are no multiple", c.accumulate,
                          sequences, tokens);
}

// Batches are given in tokens. A micro-batch holds up to 4096 by default, fewer where the memory is short.
void set_batches(TrainCommand& c, const ModelConfig& model, const Dataset& data) {
    TrainOptions& o = c.training;
    // with the patches of images
    const std::int64_t mean = (data.tokens() + data.sequences() - 1) / data.sequences(),
                       each = c.dataset.read_image ? std::max(data.context(), mean) : data.context(),
                       wanted = std::max<std::int64_t>(c.batch_tokens / each, 1),
                       maximum = std::max<std::int64_t>(max_micro_tokens / each, 1);
    require_micro_batches(c, wanted, each);
    o.accumulate = c.accumulate > 0 ? c.accumulate : (wanted + maximum - 1) / maximum;
    o.sequences = (wanted + o.accumulate - 1) / o.accumulate;
    o.divide = c.accumulate == 0;
    if (task_of(model) == Task::pairs) o.sequences = std::min(o.sequences, std::max<std::int64_t>(data.sequences(), 2));
    if (c.epochs == 0) return;
    const double steps =
        c.epochs * static_cast<double>(data.sequences()) / static_cast<double>(o.sequences * o.accumulate);
    if (!(steps <= static_cast<double>(max_steps)))
        throw usage_error("--epochs {:g} are {:.3g} steps; the maximum is {}", c.epochs, steps, max_steps);
    o.steps = std::max<std::int64_t>(std::llround(steps), 1);
}

// What heads read, if they are measured.
void set_probe(TrainCommand& c, const ModelConfig& config, const std::optional<Tokenizer>& tokenizer) {
    if (c.log_heads)
        c.probe_tokens = probe_tokens(c.probe, config, tokenizer ? &*tokenizer : nullptr, c.dataset.context);
}

// A text needs something to go on from, and room.
void check_samples(const TrainCommand& c, const std::optional<Tokenizer>& tokenizer) {
    if (repair_utf8(c.prompt) != c.prompt) throw usage_error("--prompt is not UTF-8");
    if (c.sample_every == 0) return;
    if (!tokenizer) throw usage_error("--sample-every needs a tokenizer");
    const std::int64_t tokens = std::ssize(tokenizer->encode(c.prompt).ids), maximum = c.dataset.context - 1;
    if (tokens < 1 || tokens > maximum)
        throw usage_error("--sample-every needs a --prompt of 1 to {} tokens, got {}", maximum, tokens);
}

bool is_read(const TrainCommand& c, const std::string& path) {
    std::vector<std::string> read = c.data;
    read.insert(read.end(), c.dataset.validation_files.begin(), c.dataset.validation_files.end());
    read.insert(read.end(), {c.config, c.tokenizer});
    std::error_code error;
    return std::ranges::any_of(read, [&](const std::string& file) { return fs::equivalent(file, path, error); });
}

void refuse_used_folder(const TrainCommand& c, const char* name) {
    if (!checkpoints_in(c.output).empty())
        throw usage_error("{}: {} has a run already: go on with `{}`, or give another folder", name, c.output,
                          resume_command(c));
    // A run that was stopped before its first step leaves an empty log.
    if (std::error_code none; fs::exists(c.output + "/log.jsonl") && fs::file_size(c.output + "/log.jsonl", none) > 0)
        throw usage_error("{}: {} has a run that ended before its first checkpoint: remove it, or give another folder",
                          name, c.output);
    // A run that was stopped before its first step may be overwritten. Input files and other files of the user must not.
    const bool is_own = fs::exists(c.output + "/log.jsonl");
    for (const char* file : run_files) {
        const std::string path = c.output + "/" + file;
        const bool left_over = is_own || std::string_view(file) == ".lock";
        if (!fs::exists(path) || (left_over && !is_read(c, path))) continue;
        throw usage_error("{}: {} exists, and the run would write over it: give another folder", name, path);
    }
}

// The run's own files would be read as data when it goes on.
void refuse_outputs_in_data(const TrainCommand& c, const char* name) {
    for (const std::vector<std::string>& paths : {c.data, c.dataset.validation_files}) {
        refuse_output_in_data(c.output, paths, name);
        if (!common().profile.empty() && common().profile != "-") refuse_output_in_data(common().profile, paths, name);
    }
}

// With adapters, new ones or those of a folder, the learning rate is ten times as large by default.
void set_adapters(TrainCommand& c, bool rate_given) {
    const ModelOrigin origin = ModelOrigin::from_folder(common().model, c.dataset.labels);
    common().model = origin.folder(), c.adapters = origin.adapters();
    c.training.weights = load_options().weights;
    LoraOptions own = c.adapters.empty() ? LoraOptions() : read_adapter_config(c.adapters);
    own.dropout = c.lora_dropout.value_or(own.dropout);
    c.lora.rank = c.lora_rank, c.lora.dropout = own.dropout;
    if (c.lora_rank > 0)
        c.training.lora = c.lora;
    else if (c.lora_dropout && c.adapters.empty())
        throw usage_error("--lora-dropout needs --lora, or a folder of adapters as -m");
    else if (c.lora_dropout)
        c.training.lora = own;
    origin.require_fit(c.training);
    if (!rate_given && (c.training.lora || !c.adapters.empty())) c.training.rate.rate *= 10;
}

constexpr const char* no_validation_data = "there are no validation data: give --eval-data, or a larger --eval-share";

// Without evaluations a run with --patience would not end early, and --eval-every would do nothing.
void check_evaluations(const TrainCommand& c, const CLI::App& command, const Dataset& data) {
    const bool measured = evaluates(c, data);
    if (c.patience > 0 && (!measured || c.eval_every == 0))
        throw usage_error("--patience {} needs evaluations: {}", c.patience,
                          measured ? "give --eval-every" : no_validation_data);
    if (!measured && !c.log_heads && c.eval_every > 0 && is_given(*command.get_option("--eval-every")))
        log_message(LogLevel::warning, format("--eval-every {} does nothing: {}", c.eval_every, no_validation_data));
}

// The same, as far as it is known before the data are read.
void check_settings(const TrainCommand& c, const CLI::App& command, const ModelConfig& model) {
    if (c.patience > 0 && c.eval_every == 0)
        throw usage_error("--patience {} needs evaluations: give --eval-every", c.patience);
    const bool measures = c.dataset.validation_share > 0 || !c.dataset.validation_files.empty();
    if (c.patience > 0 && !measures)
        throw usage_error("--patience {} needs evaluations: {}", c.patience, no_validation_data);
    refuse_unless(measures || c.training.validation_sequences == 0, command, "--eval-sequences",
                  std::string("does nothing: ") + no_validation_data);
    const Task task = task_of(model);
    if (task == Task::next_tokens || task == Task::masked_tokens) {  // others have sequences of the data's lengths
        const std::int64_t each = c.dataset.context;
        if (model.context > 0 && each > model.context)
            throw usage_error("--context {}: {} has {} positions", each, model.architecture, model.context);
        if (is_given(*command.get_option("--batch-tokens")) && c.batch_tokens < each)
            throw usage_error("--batch-tokens {}: a sequence has {}", c.batch_tokens, each);
        require_micro_batches(c, std::max<std::int64_t>(c.batch_tokens / each, 1), each);
    }
    internal::require_possible(c.training, model);
}

// What --resume takes from the run counts.
void refuse_without_effect(const TrainCommand& c, const CLI::App& command) {
    refuse_unless(c.log_heads, command, "--probe", "is for --log-heads and --watch");
    refuse_unless(c.watch, command, "--watch-every", "is for --watch");
    refuse_unless(c.sample_every > 0, command, "--prompt", "is for --sample-every");
    refuse_unless(c.schedule == "cosine", command, "--lr-floor", "is for --schedule cosine");
    for (const char* option : {"--beta1", "--beta2", "--eps"})
        refuse_unless(c.optimizer != "sgd", command, option, "is for --optimizer adamw and adam");
    refuse_unless(c.training.momentum > 0, command, "--nesterov", "is for --momentum");
    refuse_unless(!c.rollback || !c.training.overfit, command, "--rollback",
                  "skips batches, and --overfit has only one");
}

void begin(TrainCommand& c, const CLI::App& command) {
    const char* name = c.finetunes ? "finetune" : "train";
    if (c.data.empty()) throw usage_error("{}: say what to learn from with --data FILE", name);
    if (c.output.empty()) throw usage_error("{}: give a folder for the result with -o DIR", name);
    c.log_heads = c.log_heads || c.watch;
    refuse_without_effect(c, command);
    require_texts_for_blank_lines(c.dataset, c.data);
    c.output = without_slash(c.output);
    if (fs::exists(c.output) && !fs::is_directory(c.output))
        throw bad_file_error("cannot write {}: it is no folder", c.output);
    refuse_used_folder(c, name);
    refuse_outputs_in_data(c, name);
    set_options(c);
    std::optional<Device> device = open_training_device(c);
    const Subject subject = subject_of(c);
    check_samples(c, subject.tokenizer);
    set_probe(c, subject.model, subject.tokenizer);
    check_settings(c, command, subject.model);
    const Dataset data = read_data(c, subject.tokenizer);
    check_evaluations(c, command, data);
    set_batches(c, subject.model, data);
    const std::string& start = c.adapters.empty() ? common().model : c.adapters;
    std::unique_ptr<FileLock> lock;
    std::optional<internal::FolderWriter> unfinished;  // is removed under the lock
    run_training(c, device, data, [&](const Device& now) {
        Trainer trainer = c.finetunes ? Trainer::from_folder(now, start, data, c.training)
                                      : Trainer(now, subject.config, data, c.training, subject.tokenizer_file);
        if (lock) return trainer;
        std::error_code error;  // locked_folder reports it
        const bool is_new = fs::create_directories(c.output, error);
        lock = locked_folder(c.output);  // not before: what cannot be trained leaves no folder
        refuse_used_folder(c, name);     // another process may have begun a run while this one read its data
        if (is_new) c.unfinished = &unfinished.emplace(c.output, run_files);
        const internal::LineFile log(c.output + "/log.jsonl");  // tells that the folder is a run's own
        write_run_settings(c);
        return trainer;
    });
}

// Settings that are in the checkpoint stay.
void refuse_other_settings(const CLI::App& command) {
    constexpr std::array may_change{"--resume",       "--steps",   "--minutes",    "--eval-every", "--eval-sequences",
                                    "--sample-every", "--prompt",  "--save-every", "--keep",       "--patience",
                                    "--json",         "--memory",  "--log-heads",  "--probe",      "--watch",
                                    "--watch-every",  "--recover", "--rollback",   "--force"};
    constexpr std::array by_force{"--data", "--eval-data", "--seed"};
    const bool force = is_given(*command.get_option("--force"));
    for (const CLI::Option* option : command.get_options()) {
        const std::string name = option->get_name();
        if (!is_given(*option) || std::ranges::find(may_change, name) != may_change.end()) continue;
        if (std::ranges::find(by_force, name) == by_force.end())
            throw usage_error("train: {} cannot change when a run goes on", name);
        if (!force)
            throw usage_error(
                "train: {} cannot change when a run goes on; --force allows it, but the result then differs from that "
                "of an uninterrupted run",
                name);
    }
}

// --force: other data than those of the checkpoint, and another order.
void set_other_data(TrainCommand& c, const TrainCommand& given, const CLI::App& command) {
    if (is_given(*command.get_option("--data"))) c.data = given.data;
    if (is_given(*command.get_option("--eval-data"))) c.dataset.validation_files = given.dataset.validation_files;
    if (is_given(*command.get_option("--seed"))) c.training.seed = given.training.seed;
    c.training.other_data = c.force;
}

LoggedRun logged_run(const std::string& folder) {
    LoggedRun run;
    read_log_lines(folder + "/log.jsonl", INT64_MAX, [&](const JsonFields& line) { take_line(run, line.json()); });
    return run;
}

// A process that was killed after it wrote a checkpoint may have left other links.
void link_checkpoints(const TrainCommand& c, const SavedTraining& saved) {
    const std::string newest = checkpoint_name(saved.step);
    if (!fs::exists(c.output + "/log.jsonl") || !fs::exists(c.output + "/" + newest)) return;
    link_checkpoint(c.output, "latest", saved.step);
    const auto best = best_checkpoint(logged_run(c.output), checkpoints_in(c.output), c.evaluations_from);
    if (best) link_checkpoint(c.output, "best", best->step);
}

void go_on(TrainCommand& c, const CLI::App& command) {
    refuse_other_settings(command);
    c.resume = without_slash(c.resume);
    const bool one = fs::exists(c.resume + "/training.json");  // a checkpoint, not a run
    c.output = one ? fs::path(c.resume).parent_path().string() : c.resume;
    if (c.output.empty()) c.output = ".";
    if (!fs::is_directory(c.output)) throw bad_file_error("{}: no such folder", c.output);
    if (one && !fs::exists(c.output + "/run.json"))
        throw usage_error(
            "train: {} is not in the folder of its run: put it into a folder of its own with that run's "
            "run.json, or start a new run from its weights with `vantage finetune -m {}`",
            c.resume, c.resume);
    const auto lock = locked_folder(c.output);
    const SavedTraining saved = newest_checkpoint(c.resume);
    if (const auto all = checkpoints_in(c.output); one && !all.empty() && all.rbegin()->first > saved.step)
        throw usage_error("train: {} has checkpoints of later steps: go on from the last one, or move them away",
                          c.output);
    const JsonFields fields(saved.data, saved.folder + "/training.json: data");
    const TrainCommand given = c;
    c.data = dataset_files_of(fields), c.dataset = dataset_options_of(fields), c.training = saved.options;
    c.schedule = name_of(c.training.rate.schedule), c.optimizer = name_of(c.training.optimizer);
    c.recompute = "auto";  // as the checkpoint has it
    c.precision = name_of(c.training.precision);
    if (is_given(*command.get_option("--steps"))) c.training.steps = given.training.steps;
    if (is_given(*command.get_option("--eval-sequences")))
        c.training.validation_sequences = given.training.validation_sequences;
    if (is_given(*command.get_option("--memory"))) c.training.memory = given.training.memory;
    set_other_data(c, given, command);
    if (is_given(*command.get_option("--data")) || is_given(*command.get_option("--eval-data")) ||
        (c.training.validation_sequences > 0 && c.training.validation_sequences != saved.options.validation_sequences))
        c.evaluations_from = saved.step;
    refuse_outputs_in_data(c, "train");
    read_run_settings(c, command);
    c.log_heads = c.log_heads || c.watch;
    refuse_without_effect(c, command);
    set_options(c);
    link_checkpoints(c, saved);
    const ModelOrigin origin = ModelOrigin::from_folder(saved.folder);
    if (!c.dataset.model.empty()) take_model(c, origin.config(), origin.folder());  // adapters: that of their model
    const auto file = origin.tokenizer();
    const auto tokenizer = file ? std::optional(Tokenizer::load(*file)) : std::nullopt;
    if (!tokenizer && c.dataset.vocabulary == 0 && !origin.config().is_vision())
        throw bad_file_error("{}: there is no tokenizer.json, with which the run reads its texts", origin.folder());
    check_samples(c, tokenizer);
    set_probe(c, origin.config(), tokenizer);
    common().model = origin.folder(), c.adapters = origin.adapters();
    std::optional<Device> device = open_training_device(c);
    const Dataset data = read_data(c, tokenizer);
    const bool is_logged = fs::exists(c.output + "/log.jsonl");
    if (saved.step >= c.training.steps && (!is_logged || is_complete(c, data, logged_run(c.output), saved.step)))
        throw usage_error("train: the run is complete after {} steps: give more with --steps", saved.step);
    check_evaluations(c, command, data);
    run_training(c, device, data, [&](const Device& now) {
        Trainer trainer = Trainer::from_folder(now, saved.folder, data, c.training, true);
        write_run_settings(c);  // not those of what cannot be trained
        return trainer;
    });
}

}  // namespace

void add_train(CLI::App& app) {
    auto c = std::make_shared<TrainCommand>();
    CLI::App& command = add_command(
        app, "train", "Train a model from nothing on texts, labels, answers or images",
        "Ctrl-C saves a checkpoint, with which --resume goes on as if nothing had happened.\n\n"
        "Examples:\n  vantage train --data corpus.txt --tokenizer tokenizer.json --layers 4 --width 128 -o out\n"
        "  vantage train --data corpus.jsonl --config config.json --tokenizer gpt2 --batch-tokens 65536 -o out\n"
        "  vantage train --resume out --steps 20000\n  vantage train --compare out other");
    add_data_options(command, *c);
    add_option(command, "--config", c->config, "config.json of the model; without one a GPT-2 of the sizes below",
               "FILE");
    add_option(command, "--tokenizer", c->tokenizer, "tokenizer.json, or a folder that has one", "FILE");
    add_option(command, "--vocab", c->dataset.vocabulary, "Size of the vocabulary of files with token ids", "N")
        ->check(CLI::Range(std::int64_t{1}, max_vocab))
        ->excludes("--tokenizer");
    add_setting(command, "--layers", c->layers, "Layers of the model")
        ->check(CLI::Range(std::int64_t{1}, max_layers))
        ->excludes("--config");
    add_setting(command, "--width", c->width, "Features of the model")
        ->check(CLI::Range(std::int64_t{1}, max_width))
        ->excludes("--config");
    add_setting(command, "--heads", c->heads, "Attention heads of a layer")
        ->check(CLI::Range(std::int64_t{1}, max_heads))
        ->excludes("--config");
    add_training_options(command, *c);
    add_run_options(command, *c);
    add_option(command, "--resume", c->resume, "Goes on with a run; its settings are those of the checkpoint", "DIR");
    command
        .add_flag("--force", c->force,
                  "With --resume: continue even if the data changed; allows other --data, --eval-data and --seed")
        ->needs("--resume");
    CLI::Option* compare = add_option(
        command, "--compare", c->compared,
        "Draws the curves of runs in one picture, and fits how the loss falls with size over three or more", "DIR");
    add_setting(command, "--compare-picture", c->picture, "Picture for --compare")->type_name("FILE")->needs(compare);
    exclude_others(command, *compare, {"--compare-picture", "--json"});
    command.callback([c, &command] {
        if (!c->compared.empty()) return compare_runs(c->compared, c->picture, c->json);
        if (!c->resume.empty()) return go_on(*c, command);
        begin(*c, command);
    });
}

void add_finetune(CLI::App& app) {
    auto c = std::make_shared<TrainCommand>();
    c->finetunes = true;
    CLI::App& command = add_command(app, "finetune", "Train a model further on texts, labels, answers or images",
                                    "All parameters are trained, in f32; with --lora small matrices beside those of "
                                    "the model, which stays. --resume of `vantage train` goes on.\n\n"
                                    "Examples:\n  vantage finetune -m models/gpt2 --data chats.jsonl -o out\n"
                                    "  vantage finetune -m models/bert --labels bad,good --data reviews.jsonl -o out\n"
                                    "  vantage finetune -m models/llama --lora --weights q4 --data chats.jsonl -o out");
    add_option(command, "-m,--model", common().model, "Model folder", "DIR")->required();
    add_data_options(command, *c);
    add_option(command, "--labels", c->dataset.labels,
               "Classify into these labels, with a new output layer on an encoder of texts or a vision transformer",
               "NAMES")
        ->delimiter(',');
    CLI::Option* lora =
        add_option(command, "--lora", c->lora_rank,
                   "Train adapters of this rank beside the weights (LoRA); without a number: of rank 16", "N")
            ->expected(0, 1)
            ->default_str("16")
            ->check(CLI::Range(1, 1 << 16));
    add_setting(command, "--lora-alpha", c->lora.alpha, "What adapters add is times alpha / rank")
        ->check(above_zero)
        ->needs(lora);
    add_option(command, "--lora-targets", c->lora.targets,
               "Layers with adapters, by the ends of their names, such as q_proj,v_proj. Default: all-linear, all but "
               "the output layer and the routers of experts",
               "NAMES")
        ->delimiter(',')
        ->needs(lora);
    command.add_flag("--rslora", c->lora.rslora, "What adapters add is times alpha / √rank")->needs(lora);
    add_option(command, "--lora-dropout", c->lora_dropout,
               "Share of the features that go into adapters that are set to 0. Default: 0, or that of the adapters "
               "that are trained further",
               "P")
        ->check(below_one);
    add_weights_option(command);
    add_training_options(command, *c);
    add_run_options(command, *c);
    command.callback([c, &command] {
        set_adapters(*c, command.get_option("--lr")->count() > 0);
        for (const char* option : {"--lora-targets", "--rslora"})
            refuse_unless(c->adapters.empty(), command, option, "cannot change: the adapters of -m have their own");
        if (fs::exists(common().model + "/tokenizer_config.json")) c->dataset.chat_folder = common().model;
        begin(*c, command);
    });
}

}  // namespace vantage::cli
