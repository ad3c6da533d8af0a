#include "runtime/models/config.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/base/utf8.h"
#include "runtime/models/architecture.h"
#include "runtime/models/attention_variant.h"
#include "runtime/models/config_fields.h"

namespace vantage::internal {

namespace {

void read_tokens(const JsonFields& fields, ModelConfig& config) {
    const std::vector<std::int64_t> ends = fields.integers("eos_token_id", -1, max_vocab);
    if (!ends.empty()) config.end_tokens = ends;
    std::erase(config.end_tokens, -1);
}

// Variants of attention whose weights the file has. The fields are Vantage's own: transformers has none for them.
void read_variants(const JsonFields& fields, ModelConfig& config) {
    if (!fields.has("attention_kinds")) return;
    const Json& list = fields.json()["attention_kinds"];
    const auto fail = [&] {
        fields.fail("attention_kinds", "a list of kinds with weights: additive, multiplicative, linformer:N");
    };
    if (!list.is_array() || list.size() > 8) fail();
    for (const Json& one : list) {
        if (!one.is_string()) fail();
        try {
            config.variants.push_back(attention_variant_named(one.get<std::string>()));
        } catch (const Error&) {
            fail();
        }
        if (!has_weights(config.variants.back().form)) fail();
    }
}

// null is no token. A negative one counts from the end of the table, as in torch.
void read_padding_token(const JsonFields& fields, ModelConfig& config, const InitialWeights& initial) {
    if (initial.padded.empty()) return;
    if (const auto token = fields.optional_integer("pad_token_id", -max_vocab, max_vocab))
        config.padding_token = *token < 0 ? *token + config.vocab : *token;
    else if (!fields.json().contains("pad_token_id"))
        config.padding_token = initial.padding;
}

std::string architecture_of(const JsonFields& fields) {
    if (const auto type = fields.optional_text("model_type")) return *type;
    const std::string name = class_of(fields);
    if (name.empty()) fields.fail("model_type", "the architecture's name");
    const Architecture* best = nullptr;  // of "Phi" and "Phi3" the longer one
    for (const Architecture* one : all_architectures())
        if (name.starts_with(one->class_begin) &&
            (best == nullptr || std::string(one->class_begin).size() > std::string(best->class_begin).size()))
            best = one;
    return best != nullptr ? best->name : name;
}

}  // namespace

std::vector<std::int64_t> ModelConfig::attending_layers(AttentionKind attention) const {
    const auto first = [](std::int64_t count) {
        std::vector<std::int64_t> all(static_cast<std::size_t>(count));
        std::iota(all.begin(), all.end(), std::int64_t{0});
        return all;
    };
    if (attention == AttentionKind::cross) return first(recurrent ? cross_layers : encoder.layers > 0 ? layers : 0);
    if (attention == AttentionKind::encoder) return first(recurrent ? 0 : encoder.layers);
    if (state_space) return attending;
    return first(recurrent ? 0 : layers);
}

AttentionOptions ModelConfig::attention(std::int64_t layer) const {
    AttentionOptions options{.causal = kind != ModelKind::encoder || causal_encoder};
    if (attention_scale > 0) options.scale = attention_scale;
    if (scale_by_layer)
        options.scale =
            options.scale.value_or(1 / std::sqrt(static_cast<double>(head_width))) / static_cast<double>(layer + 1);
    options.softcap = attention_softcap;
    if (!windows.empty())
        if (const std::int64_t window = at(windows, layer); window > 0) {
            options.window_left = window - 1;
            if (!options.causal) options.window_right = window - 1;
        }
    return options;
}

ModelConfig parse_model_config(std::string_view json, const std::string& name, Tower tower) {
    const Json tree = parse_json(json, name);
    const JsonFields fields(tree, name);
    const Architecture& architecture = architecture_named(architecture_of(fields), name);
    if (fields.has("quantization_config"))
        throw bad_file_error(
            name + ": the weights are quantised (\"quantization_config\"), but supported are f32, f16 and bf16");
    ModelConfig config;
    config.architecture = architecture.name;
    config.tower = tower;
    config.initializer_range = read_initializer_range(fields, architecture.details.initial.range);
    architecture.read(fields, config);
    read_padding_token(fields, config, architecture.details.initial);
    if (const std::string of = class_of(fields);
        config.kind == ModelKind::decoder && (of.ends_with("Classification") || of.ends_with("QuestionAnswering")))
        throw bad_file_error(name + ": \"architectures\" is " + in_quotes(of) +
                             ", but supported are decoders that continue a text: …ForCausalLM and …Model");
    if (config.head_width > 256)
        throw bad_file_error("{}: heads are {} wide, but attention supports widths up to 256", name, config.head_width);
    read_variants(fields, config);
    read_tokens(fields, config);
    return config;
}

ModelConfig parse_trained_config(std::string_view json, const std::string& name) {
    const ModelConfig text = parse_model_config(json, name);
    if (!text.own.has(pair_scale)) return text;
    ModelConfig pair = text;
    pair.architecture = clip.name;
    pair.towers = {text, parse_model_config(json, name, Tower::image)};
    return pair;
}

std::string config_with_labels(std::string_view json, const std::string& name, const std::vector<std::string>& labels) {
    if (labels.size() < 2 || std::set<std::string>(labels.begin(), labels.end()).size() != labels.size())
        throw usage_error("labels: expected at least two different names, got {}", join(labels));
    if (!std::ranges::all_of(labels, [](const std::string& label) { return !label.empty() && is_utf8(label); }))
        throw usage_error("labels: names must be UTF-8, and not empty");
    Json tree = parse_json(json, name);
    const ModelConfig was = parse_model_config(json, name);
    const char* task = was.is_vision() ? "ForImageClassification" : "ForSequenceClassification";
    tree["architectures"] = Json::array({architecture_named(was.architecture, name).class_begin + std::string(task)});
    tree["problem_type"] = "single_label_classification";
    tree["id2label"] = tree["label2id"] = Json::object();
    for (std::size_t i = 0; i < labels.size(); ++i)
        tree["id2label"][std::to_string(i)] = labels[i], tree["label2id"][labels[i]] = i;
    tree.erase("num_labels");
    std::string text = tree.dump(2) + "\n";
    if (was.kind != ModelKind::encoder || parse_model_config(text, name).head != Head::classification)
        throw unsupported_error(
            "{}: {} cannot get an output layer for labels; supported are text encoders and vision transformers", name,
            was.architecture);
    return text;
}

void apply_generation_config(ModelConfig& config, std::string_view json, const std::string& name) {
    const Json tree = parse_json(json, name);
    const JsonFields fields(tree, name);
    read_tokens(fields, config);
    config.temperature = fields.optional_number("temperature", 0, 100).value_or(0);
    config.top_p = fields.optional_number("top_p", 0, 1).value_or(1);
    config.top_k = fields.optional_integer("top_k", 0, max_vocab).value_or(0);
    config.repetition_penalty = fields.optional_number("repetition_penalty", 1e-3, 1e3).value_or(1);
    if (config.kind != ModelKind::encoder_decoder) return;
    const auto token = [&](const char* key, std::int64_t default_value) {
        return fields.optional_integer(key, 0, config.vocab - 1).value_or(default_value);
    };
    config.start_token = token("decoder_start_token_id", config.start_token);
    config.forced_first_token = token("forced_bos_token_id", config.forced_first_token);
}

}  // namespace vantage::internal
