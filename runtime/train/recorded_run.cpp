#include "runtime/train/recorded_run.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <numeric>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/base/quantize.h"
#include "runtime/models/architecture.h"
#include "runtime/models/model_builder.h"
#include "runtime/train/checkpoint_folder.h"

namespace vantage::internal {

namespace {

namespace fs = std::filesystem;

std::vector<double> numbers(const Json& json, const std::string& file, std::initializer_list<const char*> names) {
    for (const char* name : names) {
        if (!json.contains(name)) continue;
        if (!json[name].is_array() || std::ranges::any_of(json[name], [](const Json& x) { return !x.is_number(); }))
            throw bad_file_error("{}: \"{}\" is no list of numbers", file, name);
        return json[name].get<std::vector<double>>();
    }
    throw bad_file_error("{}: \"{}\" is missing", file, *names.begin());
}

std::vector<float> floats_of(const TensorEntry& entry, const std::string& name) {
    const HostTensor tensor = widen({Shape{entry.elements()}, dtype_of(entry, name)}, entry.data.all());
    if (!std::ranges::all_of(tensor.data, [](double x) { return std::isfinite(x); }))
        throw bad_file_error("{} has a value that is not finite", name);
    return {tensor.data.begin(), tensor.data.end()};
}

std::int64_t product(std::span<const std::int64_t> sizes) {
    std::int64_t all = 1;
    for (const std::int64_t size : sizes) all *= size;
    return all;
}

}  // namespace

RecordedRun::RecordedRun(const std::string& folder) : folder_(folder) {
    const auto path = [&](const char* file) { return (fs::path(folder) / file).string(); };
    const bool models = fs::is_directory(path("init"));
    const std::string config = models ? path("init/config.json") : path("config.json");
    config_ = parse_trained_config(read_file(config, 16 << 20), config);
    task_ = task_of(config_);
    data_.emplace(path("data.safetensors"));
    gradients_.emplace(path("grads0.safetensors"));
    initial_.emplace(path(models ? "init/model.safetensors" : "init.safetensors"));
    final_.emplace(path(models ? "final/model.safetensors" : "final.safetensors"));
    if (fs::exists(path("step1.safetensors"))) first_.emplace(path("step1.safetensors"));
    for (const char* weight : optional_weights(config_))
        if (find(*initial_, weight) == nullptr) config_.absent.emplace_back(weight);
    // The second form is of models whose gradients are larger, and of fewer steps.
    tolerance_ = models ? TrainingTolerance{1e-4, 1e-3, 1e-3, 1e-5, 1e-3, 1e-3, 1e-3}
                        : TrainingTolerance{1e-4, 1e-4, 1e-4, 1e-6, 1e-4, 2e-5, 2e-4};
    const std::string record = path("train.json");
    const Json json = read_json(record);
    losses_ = numbers(json, record, {"loss"});
    norms_ = numbers(json, record, {"grad_norm", "grad_norm_before_clip"});
    if (losses_.empty() || losses_.size() != norms_.size())
        throw bad_file_error("{}: {} losses, but {} gradient norms", record, losses_.size(), norms_.size());
    if (!json.contains("hyper")) throw bad_file_error("{}: \"hyper\" is missing", record);
    const JsonFields hyper(json["hyper"], record);
    read_hyper(hyper);
    if (json.contains("lr")) {
        const std::vector<double> rates = numbers(json, record, {"lr"});
        settings_.rates.assign(rates.begin(), rates.end());
    } else {
        settings_.rates = rates_of(hyper);
    }
    if (std::ssize(settings_.rates) < steps())
        throw bad_file_error("{}: {} losses, but {} learning rates", record, losses_.size(), settings_.rates.size());
    read_sizes();
}

void RecordedRun::read_hyper(const JsonFields& fields) {
    const auto number = [&](const char* key, double default_value) {
        return fields.optional_number(key, 0, 1e9).value_or(default_value);
    };
    const std::vector<double> betas = numbers(fields.json(), fields.name(), {"betas"});
    if (betas.size() != 2 || std::ranges::any_of(betas, [](double beta) { return !(beta >= 0 && beta <= max_beta); }))
        fields.fail("betas", "two numbers from 0 to 0.99999");
    settings_.adam = {.beta1 = betas[0], .beta2 = betas[1], .eps = number("eps", 1e-8)};
    settings_.weight_decay = number("weight_decay", 0);
    settings_.update.max_norm = number("clip", 0);
    settings_.update.norm_eps = number("clip_eps", 1e-6);
    settings_.loss.label_smoothing = fields.optional_number("label_smoothing", 0, 1).value_or(0);
    if (task_ == Task::pairs && settings_.loss.label_smoothing > 0) fields.fail("label_smoothing", "0 for pairs");
    settings_.load_balance = config_.load_balance;
    settings_.micro_batches = fields.optional_integer("accumulate", 1, 1 << 20).value_or(1);
    const std::string optimizer = fields.optional_text("optimizer").value_or("AdamW");
    if (!optimizer.starts_with("AdamW") && !optimizer.starts_with("adamw")) fields.fail("optimizer", "AdamW");
}

std::vector<float> RecordedRun::rates_of(const JsonFields& fields) const {
    RateOptions o{.warmup = fields.optional_integer("warmup", 0, max_warmup).value_or(0),
                  .width = fields.optional_integer("d_model", 1, INT32_MAX).value_or(config_.width)};
    try {
        o.schedule = schedule_named(fields.optional_text("schedule").value_or("constant"));
    } catch (const Error&) {
        fields.fail("schedule", "constant, linear, cosine, inverse_sqrt or noam, or a list \"lr\" of all rates");
    }
    o.rate =
        o.schedule == RateSchedule::noam ? fields.optional_number("lr", 0, 1e9).value_or(1) : fields.number("lr", 0);
    if (o.schedule == RateSchedule::cosine) o.floor = fields.optional_number("min_lr", 0, o.rate).value_or(0);
    const std::int64_t total = fields.optional_integer("total", 1, max_steps).value_or(steps());
    std::vector<float> rates = learning_rates(o, total);
    if (total < steps()) rates.resize(losses_.size(), rates.back());
    return rates;
}

void RecordedRun::read_sizes() {
    const ImageInput& image = config_.learned_image();
    const bool next_token = data_->find("tokens") != nullptr, images = data_->find("pixel_values") != nullptr,
               both = config_.kind == ModelKind::encoder_decoder;
    if (next_token && task_ != Task::next_tokens)
        throw bad_file_error("{}: tokens are for models that learn the next one, and {} learns from {}", folder_,
                             config_.architecture, name_of(task_));
    if (images != (image.channels > 0))
        throw bad_file_error("{}: {} {} pixel_values", folder_, config_.architecture,
                             images ? "does not read" : "reads, but the run has no");
    const auto checked = [&](const char* name, std::size_t rank) {
        const TensorEntry& entry = data_->at(name);
        if (entry.shape.size() == rank && entry.shape[0] >= steps() && entry.shape[1] >= settings_.micro_batches &&
            entry.shape[1] % settings_.micro_batches == 0)
            return entry.shape;
        throw bad_file_error("{}: {} is {}, wanted {} dimensions: {} steps or more, a multiple of {} sequences, …",
                             folder_, name, entry.text(), rank, steps(), settings_.micro_batches);
    };
    const std::vector<std::int64_t> shape = config_.is_vision() ? checked("pixel_values", 5)
                                                                : checked(next_token ? "tokens"
                                                                          : both     ? "decoder_input_ids"
                                                                                     : "input_ids",
                                                                          3);
    settings_.sequences = shape[1] / settings_.micro_batches;
    settings_.rows = config_.is_vision() ? image.places() : shape[2] - (next_token ? 1 : 0);
    if (both) settings_.source_rows = images ? image.places() : checked("input_ids", 3)[2];
    if (settings_.rows < 1 || (both && settings_.source_rows < 1))
        throw bad_file_error("{}: sequences without a token", folder_);
}

// What a micro-batch has of the tensor, `each` elements of a sequence. They must be in the file.
template <class T>
std::vector<T> RecordedRun::numbers_of(const char* name, const char* dtype, std::int64_t each, std::int64_t step,
                                       std::int64_t micro) const {
    const TensorEntry& entry = data_->at(name);
    const std::int64_t sequences = settings_.micro_batches * settings_.sequences;
    if (entry.dtype != dtype || entry.shape.size() < 2 || entry.shape[0] < steps() || entry.shape[1] != sequences ||
        product(std::span(entry.shape).subspan(2)) != each)
        throw bad_file_error("{}: {} is {}, wanted {} of {} steps or more, {} sequences and {} elements of each",
                             folder_, name, entry.text(), dtype, steps(), sequences, each);
    std::vector<T> values(static_cast<std::size_t>(settings_.sequences * each));
    const std::int64_t first = (step * sequences + micro * settings_.sequences) * each;
    entry.data.read(static_cast<std::uint64_t>(first) * sizeof(T), std::as_writable_bytes(std::span(values)));
    return values;
}

std::vector<std::int32_t> RecordedRun::tokens_of(const char* name, std::int64_t each, std::int64_t step,
                                                 std::int64_t micro) const {
    std::vector<std::int32_t> ids = numbers_of<std::int32_t>(name, "I32", each, step, micro);
    for (const std::int32_t id : ids)
        if (id < 0 || id >= config_.vocab)
            throw bad_file_error("{}: {} has id {}, but the vocabulary has {}", folder_, name, id, config_.vocab);
    return ids;
}

std::vector<std::int32_t> RecordedRun::labels_of(std::int64_t step, std::int64_t micro) const {
    if (task_ == Task::pairs) {
        std::vector<std::int32_t> own(static_cast<std::size_t>(settings_.sequences));
        std::iota(own.begin(), own.end(), 0);
        return own;
    }
    const bool one = task_ == Task::labels;
    const std::int64_t classes = one ? config_.logit_columns() : config_.vocab;
    std::vector<std::int32_t> labels = numbers_of<std::int32_t>("labels", "I32", one ? 1 : settings_.rows, step, micro);
    for (const std::int32_t label : labels)
        if (label >= classes) throw bad_file_error("{}: a label is {}, but the model has {}", folder_, label, classes);
    return labels;
}

std::int64_t RecordedRun::targets_of(std::int64_t step) const {
    if (data_->find("tokens") != nullptr) return settings_.micro_batches * settings_.sequences * settings_.rows;
    std::int64_t count = 0;
    for (std::int64_t micro = 0; micro < settings_.micro_batches; ++micro)
        count += std::ranges::count_if(labels_of(step, micro), [](std::int32_t id) { return id >= 0; });
    return std::max<std::int64_t>(count, 1);
}

MicroBatch RecordedRun::batch(std::int64_t step, std::int64_t micro) const {
    MicroBatch batch;
    const std::int64_t rows = settings_.sequences * settings_.rows;
    std::vector<std::int32_t> targets, tokens, backwards, ends, positions;
    if (data_->find("tokens") != nullptr) {
        const std::vector<std::int32_t> all = tokens_of("tokens", settings_.rows + 1, step, micro);
        for (std::int64_t row = 0; row < rows; ++row) {
            const std::int64_t place = row / settings_.rows * (settings_.rows + 1) + row % settings_.rows;
            tokens.push_back(at(all, place));
            targets.push_back(at(all, place + 1));
        }
    } else {
        const bool both = config_.kind == ModelKind::encoder_decoder;
        targets = labels_of(step, micro);
        if (!config_.is_vision())
            tokens = tokens_of(both ? "decoder_input_ids" : "input_ids", settings_.rows, step, micro);
        if (const ImageInput& image = config_.learned_image(); image.channels > 0)
            batch[model_names::pixels] = numbers_of<float>("pixel_values", "F32", image.pixels(), step, micro);
        else if (both)
            batch[model_names::source_tokens] = tokens_of("input_ids", settings_.source_rows, step, micro);
    }
    const bool has_positions = architecture_named(config_.architecture, folder_).details.positions != nullptr;
    for (std::int64_t begin = 0; begin < std::ssize(tokens); begin += settings_.rows) {
        const std::span text(&at(tokens, begin), static_cast<std::size_t>(settings_.rows));
        if (task_ == Task::pairs) ends.push_back(static_cast<std::int32_t>(begin + pooled_row(config_, text).value()));
        if (has_positions) std::ranges::copy(token_positions(config_, text), std::back_inserter(positions));
    }
    const auto same = [&](std::int64_t count, std::int64_t value) {
        return std::vector<std::int32_t>(static_cast<std::size_t>(count), static_cast<std::int32_t>(value));
    };
    batch[model_names::tokens] = tokens;
    batch[model_names::types] = same(rows, 0);
    batch[model_names::length] = same(settings_.sequences, settings_.rows);
    batch[model_names::source_length] = same(settings_.sequences, settings_.source_rows);
    if (config_.kind == ModelKind::encoder_decoder)
        for (std::int64_t row = 0; row < settings_.sequences * settings_.source_rows; ++row) {
            const std::int64_t within = row % settings_.source_rows;
            backwards.push_back(static_cast<std::int32_t>(row + settings_.source_rows - 1 - 2 * within));
        }
    batch[model_names::source_backwards] = backwards;
    batch[model_names::ends] = ends;
    batch[model_names::positions] = positions;
    batch[train_names::targets] = targets;
    batch[train_names::loss_weights] = std::vector<float>(targets.size(), 1 / static_cast<float>(targets_of(step)));
    return batch;
}

// Names have the architecture's prefix or not. Gradients may have the names that parameters have in transformers 5,
// where those are not the names in files.
const TensorEntry* RecordedRun::find(const SafeTensors& file, const std::string& name) const {
    static const std::vector<std::pair<std::string, std::string>> renamed = {
        {"encoder.layer.", "layers."},
        {"attention.attention.query", "attention.q_proj"},
        {"attention.attention.key", "attention.k_proj"},
        {"attention.attention.value", "attention.v_proj"},
        {"attention.output.dense", "attention.o_proj"},
        {"intermediate.dense", "mlp.fc1"},
        {"output.dense", "mlp.fc2"}};
    std::string other = name;
    for (const auto& [from, to] : renamed)
        if (const std::size_t place = other.find(from); place != std::string::npos)
            other.replace(place, from.size(), to);
    for (const std::string& prefix : checkpoint_prefixes(config_, name))
        for (const std::string& one : {prefix + name, name, prefix + other})
            if (const TensorEntry* found = file.find(one)) return found;
    return nullptr;
}

std::optional<std::vector<float>> RecordedRun::read(const SafeTensors& file, const Value& parameter) const {
    std::vector<float> all;
    for (const std::string& part : tensors_of(parameter)) {
        const TensorEntry* found = find(file, part);
        if (found == nullptr) return std::nullopt;
        const std::vector<float> values = floats_of(*found, part);
        all.insert(all.end(), values.begin(), values.end());
    }
    if (std::ssize(all) != parameter.type.shape.elements())
        throw bad_file_error("{}: {} has {} elements, wanted {}", folder_, parameter.name, all.size(),
                             parameter.type.shape.text());
    return all;
}

}  // namespace vantage::internal
