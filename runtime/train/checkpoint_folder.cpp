#include "runtime/train/checkpoint_folder.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>

#include "runtime/base/checksum.h"
#include "runtime/base/log.h"
#include "runtime/base/quantize.h"
#include "runtime/base/version.h"
#include "runtime/checkpoint/adapter_files.h"
#include "runtime/checkpoint/gguf_model.h"
#include "runtime/models/adapters.h"
#include "runtime/models/config.h"
#include "runtime/session/model_access.h"
#include "runtime/session/weight_types.h"
#include "runtime/train/training_graph.h"

namespace vantage::internal {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t config_limit = 16 << 20;
constexpr std::string_view step_prefix = "step-";
constexpr std::array<const char*, 5> checked_files{"config.json", "model.safetensors", adapter_files::config,
                                                   adapter_files::weights, "training.safetensors"};

std::string in_folder(const std::string& folder, const std::string& file) { return (fs::path(folder) / file).string(); }

Json described_file(const std::string& path) {
    const ByteSource bytes(path);
    std::vector<std::byte> piece(std::size_t{1} << 22);
    std::uint64_t hash = checksum_begin;
    for (std::uint64_t first = 0; first < bytes.size(); first += piece.size()) {
        const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), bytes.size() - first));
        bytes.read(first, std::span(piece).first(count));
        hash = checksum(std::span(piece).first(count), hash);
    }
    return {{"bytes", bytes.size()}, {"checksum", format("{:016x}", hash)}};
}

// Why a checkpoint is not whole; empty: it is.
std::string fault_of(const std::string& folder) {
    const std::string path = in_folder(folder, "training.json");
    try {
        if (!fs::exists(path)) return "it has no training.json";
        const Json json = read_json(path);
        const JsonFields files = JsonFields(json, path).object("files");
        for (const char* file : checked_files)
            if ((files.has(file) || fs::exists(in_folder(folder, file))) &&
                described_file(in_folder(folder, file)) != files.object(file).json())
                return format("{} is not what was written", file);
    } catch (const Error& error) {
        return error.what();
    } catch (const fs::filesystem_error& error) {
        return error.code().message();
    }
    return {};
}

// What the last bits of a step depend on.
std::map<std::string, std::string> made_here(const Caps& caps) {
    const BuildFacts& build = build_facts();
    std::map<std::string, std::string> facts{{"device", caps.name},
                                             {"driver", caps.driver},
                                             {"driver_version", caps.driver_version},
                                             {"vantage", build.version}};
    if (build.commit != "unknown") facts["commit"] = build.commit;
    return facts;
}

SavedTraining read_saved(const std::string& folder) {
    const std::string path = in_folder(folder, "training.json");
    const Json json = read_json(path);
    const JsonFields fields(json, path);
    std::map<std::string, std::string> made_by;
    for (const char* fact : {"device", "driver", "driver_version", "vantage", "commit"})
        if (auto text = fields.optional_text(fact)) made_by[fact] = *std::move(text);
    return {.folder = folder,
            .step = fields.integer("step", 0, max_steps),
            .options = train_options_of(fields.object("options")),
            .data_key = fields.text("data_key"),
            .base = fields.optional_text("base").value_or(""),
            .data = fields.object("data").json(),
            .made_by = std::move(made_by)};
}

}  // namespace

void ModelOrigin::keep(const std::string& folder, const char* file) {
    if (const std::string path = in_folder(folder, file); fs::is_regular_file(path)) files_[file] = read_file(path);
}

ModelOrigin ModelOrigin::from_config(const std::string& config, const std::string& tokenizer_file,
                                     const std::string& beside) {
    ModelOrigin origin;
    origin.files_["config.json"] = config, origin.tokenizer_ = tokenizer_file;
    if (!beside.empty()) origin.keep(beside, "preprocessor_config.json");
    if (tokenizer_file.empty()) return origin;
    origin.files_["tokenizer.json"] = read_file(tokenizer_file);
    const std::string folder = fs::path(tokenizer_file).parent_path().string();
    for (const char* file : {"tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja"})
        origin.keep(folder, file);
    return origin;
}

ModelOrigin ModelOrigin::from_folder(const std::string& folder, const std::vector<std::string>& labels) {
    ModelOrigin origin;
    origin.folder_ = folder;
    if (fs::exists(in_folder(folder, adapter_files::config))) {
        origin.adapters_ = folder, origin.folder_ = base_of_adapters(folder);
        if (!fs::is_directory(origin.folder_))
            throw bad_file_error("{}: \"base_model_name_or_path\" is {}, wanted the path of a model folder",
                                 in_folder(folder, adapter_files::config), in_quotes(origin.folder_));
    }
    refuse_gguf(origin.folder_, "training");
    std::error_code error;  // a link, such as `latest`, may show another folder later
    const fs::path target = fs::canonical(origin.folder_, error);
    if (error) throw bad_file_error("{}: {}", origin.folder_, error.message());
    origin.base_ = target.string();
    const std::string& from = origin.folder_;
    std::string& config = origin.files_["config.json"] = read_file(in_folder(from, "config.json"), config_limit);
    if (!labels.empty()) {
        if (!origin.adapters_.empty())
            throw usage_error("training: adapters cannot get a new output layer: merge them into the model first");
        config = config_with_labels(config, in_folder(from, "config.json"), labels);
        origin.new_output_layer_ = true;
    }
    for (const char* file : {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
                             "chat_template.jinja", "generation_config.json", "preprocessor_config.json"})
        origin.keep(from, file);
    if (origin.files_.contains("tokenizer.json")) origin.tokenizer_ = in_folder(from, "tokenizer.json");
    return origin;
}

ModelConfig ModelOrigin::config() const {
    ModelConfig config = parse_trained_config(files_.at("config.json"),
                                              folder_.empty() ? "config.json" : in_folder(folder_, "config.json"));
    if (const auto generation = files_.find("generation_config.json"); generation != files_.end())
        apply_generation_config(config, generation->second, in_folder(folder_, "generation_config.json"));
    return config;
}

StartingWeights ModelOrigin::weights(ModelConfig& config, std::uint64_t seed) const {
    if (folder_.empty()) return {config, seed};
    return {config, seed, folder_, adapters_, new_output_layer_};
}

std::optional<Model> ModelOrigin::adapted_model(const Device& device, const TrainOptions& options) const {
    require_fit(options);
    const LoadOptions load{.weights = options.weights, .lora = adapters_};
    if (!adapters_.empty()) return Model::load(device, folder_, load);
    if (options.lora) return model_with_adapters(device, folder_, load, *options.lora);
    return std::nullopt;
}

void ModelOrigin::require_fit(const TrainOptions& options) const {
    if (!options.lora) {
        if (options.weights && *options.weights != DType::f32 && adapters_.empty())
            throw usage_error("training: all weights are trained, in f32; other types need LoRA");
        return;
    }
    if (folder_.empty()) throw usage_error("training: adapters need the folder of a trained model");
    if (new_output_layer_) throw usage_error("training: adapters cannot hold a new output layer: train without LoRA");
    if (adapters_.empty()) {
        ModelConfig adapted = config();
        if (!adapted.towers.empty())
            throw unsupported_error("training: adapters of {} are not supported", adapted.architecture);
        adapted.lora = options.lora;
        return require_possible_adapters(adapted);
    }
    const LoraOptions has = read_adapter_config(adapters_);
    if (options.lora->rank != has.rank || options.lora->factor() != has.factor())
        throw usage_error("training: rank {} and alpha {:g}, but the adapters of {} have rank {} and alpha {:g}",
                          options.lora->rank, options.lora->alpha, adapters_, has.rank, has.alpha);
}

std::string ModelOrigin::base_checksum(const TrainOptions& options) const {
    if (adapters_.empty() && !options.lora) return {};
    constexpr std::uint64_t most = 4096;  // bytes of a tensor: all of a large model would take minutes
    const WeightFiles files(folder_);
    std::uint64_t hash = checksum(files_.at("config.json"));
    std::vector<std::byte> begin;
    for (const std::string& name : files.names()) {
        const TensorEntry& tensor = *files.find(name);
        begin.resize(static_cast<std::size_t>(std::min<std::uint64_t>(tensor.data.size(), most)));
        tensor.data.read(0, begin);
        hash = checksum(begin, checksum(name + tensor.text(), hash));
    }
    return format("{:016x}", hash);
}

std::optional<std::string> ModelOrigin::tokenizer() const {
    return tokenizer_.empty() ? std::nullopt : std::optional(tokenizer_);
}

void ModelOrigin::write_files(const FolderWriter& to) const {
    for (const auto& [name, content] : files_) write_file(to.file(name), content);
}

namespace {

Json to_json(const LoraOptions& lora) {
    return {{"rank", lora.rank},
            {"alpha", lora.alpha},
            {"targets", lora.targets},
            {"rslora", lora.rslora},
            {"dropout", lora.dropout}};
}

double below_one(const JsonFields& f, const char* key) {
    const double number = f.number(key, 0);
    if (number >= 1) f.fail(key, "a number from 0 to below 1");
    return number;
}

LoraOptions lora_options_of(const JsonFields& f) {
    LoraOptions lora{.rank = f.integer("rank", 1), .alpha = f.number("alpha"), .rslora = f.flag("rslora")};
    lora.dropout = f.has("dropout") ? below_one(f, "dropout") : 0;  // older runs have none
    lora.targets.clear();
    for (const Json& target : f.list("targets")) {
        if (!target.is_string()) f.fail("targets", "a list of texts");
        lora.targets.push_back(target.get<std::string>());
    }
    return lora;
}

}  // namespace

Json to_json(const TrainOptions& o) {
    return {{"steps", o.steps},
            {"sequences", o.sequences},
            {"accumulate", o.accumulate},
            {"schedule", name_of(o.rate.schedule)},
            {"rate", o.rate.rate},
            {"rate_floor", o.rate.floor},
            {"warmup", o.rate.warmup},
            {"optimizer", name_of(o.optimizer)},
            {"beta1", o.beta1},
            {"beta2", o.beta2},
            {"eps", o.eps},
            {"momentum", o.momentum},
            {"nesterov", o.nesterov},
            {"weight_decay", o.weight_decay},
            {"max_norm", o.max_norm},
            {"label_smoothing", o.label_smoothing},
            {"dropout", o.dropout},
            {"attention_dropout", o.attention_dropout},
            {"z_loss", o.z_loss},
            {"custom_loss", static_cast<bool>(o.loss)},
            {"load_balance", o.load_balance ? Json(*o.load_balance) : Json()},
            {"seed", static_cast<std::int64_t>(o.seed)},
            {"skipped_batches", o.skipped_batches},
            {"overfit", o.overfit},
            {"validation_sequences", o.validation_sequences},
            {"pause_every", o.pause_every},
            {"precision", name_of(o.precision)},
            {"loss_scale", o.loss_scale},
            {"memory", static_cast<std::int64_t>(o.memory)},
            {"recompute", o.recompute},
            {"lora", o.lora ? to_json(*o.lora) : Json()},
            {"weights", o.weights ? Json(name_of(*o.weights)) : Json()}};
}

TrainOptions train_options_of(const JsonFields& f) {
    TrainOptions o;
    o.steps = f.integer("steps", 1, max_steps);
    o.sequences = f.integer("sequences", 1, max_sequences);
    o.accumulate = f.integer("accumulate", 1, max_sequences);
    o.rate.schedule = schedule_named(f.one_of("schedule", {"constant", "linear", "cosine", "inverse_sqrt", "noam"}));
    o.rate.rate = f.number("rate", 0), o.rate.floor = f.number("rate_floor", 0, o.rate.rate);
    o.rate.warmup = f.integer("warmup", 0, max_warmup);
    o.optimizer = optimizer_named(f.one_of("optimizer", {"adamw", "adam", "sgd"}));
    o.beta1 = f.number("beta1", 0, max_beta), o.beta2 = f.number("beta2", 0, max_beta), o.eps = f.number("eps", 0);
    o.momentum = below_one(f, "momentum"), o.nesterov = f.flag("nesterov");
    o.weight_decay = f.number("weight_decay", 0), o.max_norm = f.number("max_norm", 0);
    o.label_smoothing = below_one(f, "label_smoothing"), o.z_loss = f.number("z_loss", 0);
    if (f.optional_flag("custom_loss").value_or(false))
        o.loss = [](const LossInputs&) -> Tensor {
            throw usage_error("the run has a custom loss, which only its program can give (TrainOptions::loss)");
        };
    o.load_balance = f.json().contains("load_balance") ? f.optional_number("load_balance", 0) : 0;  // older runs: 0
    o.dropout = f.has("dropout") ? below_one(f, "dropout") : 0;
    o.attention_dropout = f.has("attention_dropout") ? below_one(f, "attention_dropout") : 0;
    o.seed = static_cast<std::uint64_t>(f.integer("seed"));
    o.skipped_batches = f.optional_integer("skipped_batches", 0, max_steps).value_or(0);
    o.overfit = f.optional_flag("overfit").value_or(false);
    o.validation_sequences = f.integer("validation_sequences", 0);
    o.pause_every = f.integer("pause_every", 0);
    if (f.has("precision")) o.precision = precision_named(f.one_of("precision", {"f32", "f16"}));
    if (f.has("loss_scale")) o.loss_scale = f.number("loss_scale", 0, max_loss_scale);
    o.memory = static_cast<std::uint64_t>(f.optional_integer("memory", 0).value_or(0));
    o.recompute = f.optional_integer("recompute", 0).value_or(0);
    if (const auto lora = f.optional_object("lora")) o.lora = lora_options_of(*lora);
    if (f.has("weights")) {
        std::vector<const char*> names;
        for (const DType type : weight_dtypes) names.push_back(name_of(type));
        o.weights = weight_types.at(f.one_of("weights", names));
    }
    return o;
}

std::map<std::int64_t, std::string> checkpoints_in(const std::string& folder) {
    std::map<std::int64_t, std::string> all;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename().string();
        std::int64_t step = 0;
        if (!name.starts_with(step_prefix)) continue;
        const auto [end, problem] = std::from_chars(name.data() + step_prefix.size(), name.data() + name.size(), step);
        if (problem == std::errc() && end == name.data() + name.size() && name == checkpoint_name(step))
            all[step] = entry.path().string();
    }
    return all;
}

void link_checkpoint(const std::string& run, const char* name_of_link, std::optional<std::int64_t> step) {
    const std::string link = in_folder(run, name_of_link);
    std::error_code error;
    if (fs::exists(fs::symlink_status(link, error)) && !fs::is_symlink(link, error)) {
        log(LogLevel::warning, "{} is no link, so the {} checkpoint has none", link, name_of_link);
    } else if (!step) {
        fs::remove(link, error);
    } else if (const std::string name = checkpoint_name(*step); fs::read_symlink(link, error) != name) {
        write_link(link, name);
    }
}

void remove_unfinished(const std::string& folder) {
    std::error_code error;
    // Names of a run's own files. Others are not touched: somebody may have put them there.
    constexpr std::array<std::string_view, 8> own{step_prefix, "latest",      "best",   "log.jsonl",
                                                  "run.json",  "samples.txt", "heads.", "loss."};
    std::vector<fs::path> unfinished;  // removed afterwards: the iterator reads the folder
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename().string();
        const bool is_own = std::ranges::any_of(own, [&](std::string_view begin) { return name.starts_with(begin); });
        if (is_own && maker_of(name) != 0) unfinished.push_back(entry.path());
    }
    for (const fs::path& path : unfinished) fs::remove_all(path, error);
}

std::optional<SavedTraining> checkpoint_before(const std::string& run, std::int64_t before) {
    const auto all = checkpoints_in(run);
    for (auto one = std::make_reverse_iterator(all.lower_bound(before)); one != all.rend(); ++one) {
        const std::string fault = fault_of(one->second);
        if (fault.empty()) return read_saved(one->second);
        log(LogLevel::warning, "{} is no whole checkpoint and is left out: {}", one->second, fault);
    }
    return std::nullopt;
}

SavedTraining newest_checkpoint(const std::string& folder) {
    if (!fs::is_directory(folder)) throw bad_file_error("{}: no such folder", folder);
    if (fs::exists(in_folder(folder, "training.json"))) {
        if (const std::string fault = fault_of(folder); !fault.empty())
            throw bad_file_error("{} is no whole checkpoint: {}", folder, fault);
        return read_saved(folder);
    }
    if (auto newest = checkpoint_before(folder, max_steps + 1)) return *std::move(newest);
    const auto all = checkpoints_in(folder);
    if (all.empty()) throw bad_file_error("{}: no checkpoint of a training run", folder);
    const std::string& last = all.rbegin()->second;
    throw bad_file_error("{}: none of {} checkpoints is whole; {}: {}", folder, all.size(), last, fault_of(last));
}

void warn_of_other_bits(const SavedTraining& saved, const Caps& caps) {
    std::vector<std::string> others;
    for (const auto& [fact, is] : made_here(caps))
        if (const auto was = saved.made_by.find(fact); was != saved.made_by.end() && was->second != is)
            others.push_back(format("{} {} (here {})", fact, in_quotes(was->second), in_quotes(is)));
    if (!others.empty())
        log(LogLevel::warning, "{} was written with {}: the same steps may differ in the last bits here", saved.folder,
            join(others));
}

void require_room(const std::string& folder, std::uint64_t bytes) {
    std::error_code error;
    const fs::space_info space = fs::space(folder, error);
    const bool is_known = !error && space.capacity > 0 && space.available != static_cast<std::uintmax_t>(-1);
    if (is_known && space.available < bytes)
        throw bad_file_error("cannot write a checkpoint to {}: it takes {} bytes, but {} are available", folder, bytes,
                             space.available);
}

void write_training_json(const FolderWriter& folder, std::int64_t step, const TrainOptions& options,
                         const std::string& data_key, const Json& data, const std::string& base, const Caps& caps) {
    Json files = Json::object();
    for (const char* file : checked_files)
        if (fs::exists(folder.file(file))) files[file] = described_file(folder.file(file));
    Json json = {{"schema_version", 1},  {"step", step}, {"options", to_json(options)},
                 {"data_key", data_key}, {"data", data}, {"files", files}};
    json.update(Json(made_here(caps)));
    if (!base.empty()) json["base"] = base;
    write_file(folder.file("training.json"), json.dump(2) + "\n");
}

std::string checkpoint_name(std::int64_t step) { return format("{}{:06}", step_prefix, step); }

}  // namespace vantage::internal
