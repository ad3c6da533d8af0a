#include "runtime/checkpoint/adapter_files.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <span>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/base/interrupt.h"
#include "runtime/base/json.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/gguf_model.h"
#include "runtime/graph/op_def.h"
#include "runtime/models/adapters.h"
#include "runtime/models/architecture.h"

namespace vantage::internal {

namespace {

constexpr std::size_t adapter_config_limit = 16 << 20;

std::string adapter_config_path(const std::string& folder) {
    return (std::filesystem::path(folder) / adapter_files::config).string();
}

// What changes the arithmetic, or puts other weights beside the matrices. Null, false, "none" and empty mean no.
void refuse_unsupported(const JsonFields& fields) {
    if (const std::string type = fields.text("peft_type"); type != "LORA")
        throw unsupported_error("{}: \"peft_type\" is {}, but only \"LORA\" is supported", fields.name(),
                                in_quotes(type));
    for (const char* key : {"use_dora", "use_qalora", "use_bdlora", "lora_bias", "bias", "modules_to_save",
                            "rank_pattern", "alpha_pattern", "layer_replication", "target_parameters",
                            "trainable_token_indices", "alora_invocation_tokens", "megatron_config", "arrow_config"}) {
        const Json value = fields.json().value(key, Json());
        if (!value.is_null() && value != false && value != "none" && !(value.is_structured() && value.empty()))
            throw unsupported_error("{}: \"{}\" is {}, which is not supported", fields.name(), key, describe(value));
    }
    // others change the weights of the model, too
    const Json drawn = fields.json().value("init_lora_weights", Json());
    if (drawn.is_string() && drawn != "gaussian" && drawn != "eva" && drawn != "orthogonal")
        throw unsupported_error("{}: \"init_lora_weights\" is {}, which is not supported", fields.name(),
                                describe(drawn));
}

// The layers that the tensors name.
std::vector<std::string> layers_in_file(const std::string& folder) {
    const SafeTensors file(adapter_files::tensors(folder));
    std::set<std::string> layers;
    const std::string_view prefix = adapter_files::tensor_prefix;
    for (const auto& [name, entry] : file.entries())
        for (const std::string_view end : {adapter_names::down, adapter_names::up})
            if (name.starts_with(prefix) && name.ends_with(end) && name.size() > prefix.size() + end.size())
                layers.insert(name.substr(prefix.size(), name.size() - prefix.size() - end.size()));
    if (layers.empty()) throw bad_file_error("{}: no tensor is one of an adapter", file.name());
    return {layers.begin(), layers.end()};
}

std::vector<std::string> targets_of(const JsonFields& fields, const std::string& folder) {
    const bool by_names = fields.has("target_modules") && fields.json()["target_modules"].is_array();
    // an expression, or some of the layers with these names
    if (!by_names || fields.has("layers_to_transform") || fields.has("exclude_modules")) return layers_in_file(folder);
    std::vector<std::string> names;
    const Json& list = fields.list("target_modules");
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (!list[i].is_string()) fields.fail_element("target_modules", i, "a text");
        names.push_back(list[i].get<std::string>());
    }
    return names;
}

/// Adds factor · B A, in the layout of the weight.
std::vector<std::byte> merged(const Checkpoint& checkpoint, const AdaptedLayer& layer, const LoraOptions& lora) {
    throw_if_interrupted();
    const auto read = [&](const std::string& name) {
        const TensorEntry& entry = checkpoint.entry(name);
        return widen({Shape(entry.shape), checkpoint.dtype(name)}, entry.data.all());
    };
    HostTensor weight = read(layer.name + ".weight");
    const HostTensor down = read(layer.name + std::string(adapter_names::down)),
                     up = read(layer.name + std::string(adapter_names::up));
    const std::int64_t in = down.type.shape[1], out = up.type.shape[0];
    const double factor = lora.factor();
    // Rows of the weight are sums of the second factor's rows, so that neighbours in memory are added in a row.
    std::vector<double> columns_of_up;  // of a weight [in, out]
    if (layer.inputs_first)
        for (std::int64_t k = 0; k < lora.rank; ++k)
            for (std::int64_t o = 0; o < out; ++o) columns_of_up.push_back(up[o * lora.rank + k]);
    const std::span<const double> second = layer.inputs_first ? columns_of_up : down.data;
    const std::int64_t rows = layer.inputs_first ? in : out, cols = layer.inputs_first ? out : in;
    for (std::int64_t row = 0; row < rows; ++row) {
        throw_if_interrupted();
        for (std::int64_t k = 0; k < lora.rank; ++k) {
            const double one = factor * (layer.inputs_first ? down[k * in + row] : up[row * lora.rank + k]);
            for (std::int64_t col = 0; col < cols; ++col) weight[row * cols + col] += one * at(second, k * cols + col);
        }
    }
    std::vector<std::byte> stored = narrow(weight);
    const HostTensor as_stored = widen(weight.type, stored);  // f16 ends at 65504
    if (!std::ranges::all_of(as_stored.data, [](double x) { return std::isfinite(x); }))
        throw bad_file_error("{} is not finite with its adapter, as {}; is a file damaged?",
                             checkpoint.place_of(layer.name + ".weight"), name_of(weight.type.dtype));
    return stored;
}

}  // namespace

std::string adapter_files::tensors(const std::string& folder) {
    return (std::filesystem::path(folder) / adapter_files::weights).string();
}

LoraOptions read_adapter_config(const std::string& folder) {
    const Json json = read_json(adapter_config_path(folder), adapter_config_limit);
    const JsonFields fields(json, adapter_config_path(folder));
    refuse_unsupported(fields);
    const double dropout = fields.optional_number("lora_dropout", 0).value_or(0);
    if (dropout >= 1) fields.fail("lora_dropout", "a number from 0 to below 1");
    return {.rank = fields.integer("r", 1, max_adapter_rank),
            .alpha = fields.number("lora_alpha"),
            .targets = targets_of(fields, folder),
            .rslora = fields.optional_flag("use_rslora").value_or(false),
            .dropout = dropout};
}

std::string base_of_adapters(const std::string& folder) {
    const Json json = read_json(adapter_config_path(folder), adapter_config_limit);
    return JsonFields(json, adapter_config_path(folder)).optional_text("base_model_name_or_path").value_or("");
}

void write_adapter_config(const std::string& path, const ModelConfig& config, const std::string& base) {
    const LoraOptions& lora = *config.lora;
    const std::vector<AdaptedLayer> layers = adapted_layers(config);
    const bool all = std::ranges::count(lora.targets, adapter_names::all_linear) > 0;
    // layers in front of an encoder's output have the last names of others: "dense"
    const int parts = config.kind == ModelKind::encoder ? 2 : 1;
    Json task;  // for PEFT; encoders have none: those of PEFT would train an output layer, too
    if (config.kind != ModelKind::encoder)
        task = config.kind == ModelKind::encoder_decoder ? "SEQ_2_SEQ_LM" : "CAUSAL_LM";
    const Json json = {{"peft_type", "LORA"},
                       {"task_type", task},
                       {"base_model_name_or_path", base},
                       {"r", lora.rank},
                       {"lora_alpha", lora.alpha},
                       {"lora_dropout", lora.dropout},
                       {"target_modules", all ? layer_kinds(layers, parts) : lora.targets},
                       {"fan_in_fan_out", std::ranges::any_of(layers, &AdaptedLayer::inputs_first)},
                       {"use_rslora", lora.rslora},
                       {"use_dora", false},
                       {"bias", "none"},
                       {"modules_to_save", nullptr},
                       {"init_lora_weights", true},
                       {"inference_mode", true}};
    write_file(path, json.dump(2) + "\n");
}

std::int64_t merge_adapters(const std::string& from, const std::string& adapters, const std::string& to) {
    require_new_folder(to);
    refuse_gguf(from, "merging adapters");
    const std::string file = (std::filesystem::path(from) / "config.json").string();
    ModelConfig config = parse_model_config(read_file(file, adapter_config_limit), file);
    config.lora = read_adapter_config(adapters);
    const Checkpoint checkpoint(from, config, adapters);
    config.absent = checkpoint.absent();
    std::set<std::string> used;
    for (const Value& value : weights_in_files(config)) {
        checkpoint.check_shape(value);
        for (const std::string& part : tensors_of(value)) used.insert(checkpoint.name_of(part));
    }
    checkpoint.check_surplus(used);
    std::map<std::string, AdaptedLayer> changed;  // by tensor
    for (const AdaptedLayer& layer : adapted_layers(config))
        changed[checkpoint.name_of(layer.name + ".weight")] = layer;

    FolderWriter folder(to);
    for (const auto& one : checkpoint.files().files()) {
        std::vector<TensorToWrite> tensors;
        for (const auto& [name, entry] : one->entries()) {
            const auto layer = changed.find(name);
            const auto make = [&, &whole = entry, &tensor = name, in_file = one->name(), layer] {
                if (layer != changed.end()) return merged(checkpoint, layer->second, *config.lora);
                if (used.contains(tensor)) require_finite(whole, format("{}: {}", in_file, tensor));
                return whole.data.all();
            };
            tensors.push_back({.name = name, .dtype = entry.dtype, .shape = entry.shape, .make = make});
        }
        write_safetensors(folder.file(std::filesystem::path(one->name()).filename().string()), tensors,
                          {one->metadata().begin(), one->metadata().end()});
    }
    copy_beside_weights(from, folder, {"training.json", adapter_files::config});
    folder.finish();
    return std::ssize(changed);
}

}  // namespace vantage::internal
