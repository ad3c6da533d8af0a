#include "runtime/train/checkpoint_folder.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "runtime/base/checksum.h"
#include "runtime/base/log.h"
#include "runtime/base/version.h"
#include "runtime/models/config.h"

namespace vantage::internal {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t config_limit = 16 << 20;
constexpr std::array<const char*, 3> checked_files{"config.json", "model.safetensors", "training.safetensors"};

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
    if (!fs::exists(path)) return "it has no training.json";
    try {
        const Json json = read_json(path);
        const JsonFields files = JsonFields(json, path).object("files");
        for (const char* file : checked_files)
            if (described_file(in_folder(folder, file)) != files.object(file).json())
                return format("{} is not what was written", file);
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

SavedTraining read_saved(const std::string& folder) {
    const std::string path = in_folder(folder, "training.json");
    const Json json = read_json(path);
    const JsonFields fields(json, path);
    return {.folder = folder,
            .step = fields.integer("step", 0, 1 << 24),
            .options = train_options_of(fields.object("options")),
            .data_key = fields.text("data_key"),
            .data = fields.object("data").json()};
}

}  // namespace

ModelOrigin ModelOrigin::from_config(const std::string& config, const std::string& tokenizer_file) {
    ModelOrigin origin;
    origin.config_ = config, origin.tokenizer_ = tokenizer_file;
    return origin;
}

ModelOrigin ModelOrigin::from_folder(const std::string& folder) {
    ModelOrigin origin;
    origin.folder_ = folder;
    origin.config_ = read_file(in_folder(folder, "config.json"), config_limit);
    if (fs::exists(in_folder(folder, "tokenizer.json"))) origin.tokenizer_ = in_folder(folder, "tokenizer.json");
    return origin;
}

ModelConfig ModelOrigin::config() const {
    ModelConfig config =
        parse_model_config(config_, folder_.empty() ? "config.json" : in_folder(folder_, "config.json"));
    if (const std::string file = in_folder(folder_, "generation_config.json"); !folder_.empty() && fs::exists(file))
        apply_generation_config(config, read_file(file, config_limit), file);
    return config;
}

StartingWeights ModelOrigin::weights(ModelConfig& config, std::uint64_t seed) const {
    return folder_.empty() ? StartingWeights(config, seed) : StartingWeights(config, folder_);
}

std::optional<std::string> ModelOrigin::tokenizer() const {
    return tokenizer_.empty() ? std::nullopt : std::optional(tokenizer_);
}

void ModelOrigin::write_files(const FolderWriter& to) const {
    write_file(to.file("config.json"), config_);
    if (!tokenizer_.empty()) write_file(to.file("tokenizer.json"), read_file(tokenizer_));
    const std::string beside =
        !folder_.empty() || tokenizer_.empty() ? folder_ : fs::path(tokenizer_).parent_path().string();
    if (beside.empty() && folder_.empty() && tokenizer_.empty()) return;
    for (const char* file : {"tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja",
                             "generation_config.json", "preprocessor_config.json"})
        if (const std::string from = in_folder(beside, file); fs::is_regular_file(from))
            write_file(to.file(file), read_file(from));
}

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
            {"z_loss", o.z_loss},
            {"seed", o.seed},
            {"validation_sequences", o.validation_sequences},
            {"pause_every", o.pause_every}};
}

TrainOptions train_options_of(const JsonFields& f) {
    TrainOptions o;
    o.steps = f.integer("steps", 1, 1 << 24);
    o.sequences = f.integer("sequences", 1, 1 << 24);
    o.accumulate = f.integer("accumulate", 1, 1 << 20);
    o.rate.schedule = schedule_named(f.text("schedule"));
    o.rate.rate = f.number("rate", 0), o.rate.floor = f.number("rate_floor", 0);
    o.rate.warmup = f.integer("warmup", 0, 1 << 24);
    o.optimizer = optimizer_named(f.text("optimizer"));
    o.beta1 = f.number("beta1", 0, 1), o.beta2 = f.number("beta2", 0, 1), o.eps = f.number("eps", 0);
    o.momentum = f.number("momentum", 0, 1), o.nesterov = f.flag("nesterov");
    o.weight_decay = f.number("weight_decay", 0), o.max_norm = f.number("max_norm", 0);
    o.label_smoothing = f.number("label_smoothing", 0, 1), o.z_loss = f.number("z_loss", 0);
    o.seed = static_cast<std::uint64_t>(f.integer("seed"));
    o.validation_sequences = f.integer("validation_sequences", 0);
    o.pause_every = f.integer("pause_every", 0);
    return o;
}

SavedTraining newest_checkpoint(const std::string& folder) {
    if (!fs::is_directory(folder)) throw bad_file_error("{}: no such folder", folder);
    if (fs::exists(in_folder(folder, "training.json"))) {
        if (const std::string fault = fault_of(folder); !fault.empty())
            throw bad_file_error("{} is no whole checkpoint: {}", folder, fault);
        return read_saved(folder);
    }
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder))
        if (const std::string name = entry.path().filename().string();
            name.starts_with("step-") && entry.is_directory())
            names.push_back(name);
    std::ranges::sort(names, std::greater());
    for (const std::string& name : names) {
        const std::string one = in_folder(folder, name), fault = fault_of(one);
        if (fault.empty()) return read_saved(one);
        log(LogLevel::warning, "{} is no whole checkpoint and is left out: {}", one, fault);
    }
    throw bad_file_error("{}: no checkpoint of a training run", folder);
}

void write_training_json(const FolderWriter& folder, std::int64_t step, const TrainOptions& options,
                         const std::string& data_key, const Json& data, const Caps& caps) {
    Json files;
    for (const char* file : checked_files) files[file] = described_file(folder.file(file));
    const Json json = {
        {"schema_version", 1}, {"step", step},        {"options", to_json(options)}, {"data_key", data_key},
        {"data", data},        {"device", caps.name}, {"driver", caps.driver},       {"vantage", build_facts().version},
        {"files", files}};
    write_file(folder.file("training.json"), json.dump(2) + "\n");
}

std::string checkpoint_name(std::int64_t step) { return format("step-{:06}", step); }

}  // namespace vantage::internal
