// The list of all architectures.
#include <algorithm>
#include <array>
#include <set>

#include "runtime/base/errors.h"
#include "runtime/models/architecture.h"

namespace vantage::internal {

std::span<const Architecture* const> all_architectures() {
    static constexpr std::array list = {&gpt2,
                                        &gptj,
                                        &gpt_neox,
                                        &opt,
                                        &bloom,
                                        &falcon,
                                        &phi,
                                        &phi3,
                                        &llama,
                                        &mistral,
                                        &mixtral,
                                        &qwen2,
                                        &qwen3,
                                        &qwen3_moe,
                                        &smollm3,
                                        &granite,
                                        &olmo2,
                                        &gemma2,
                                        &gpt_oss,
                                        &mamba,
                                        &falcon_mamba,
                                        &jamba,
                                        &bert,
                                        &roberta,
                                        &longformer,
                                        &big_bird,
                                        &distilbert,
                                        &vit,
                                        &clip,
                                        &clip_text_model,
                                        &clip_vision_model,
                                        &bart,
                                        &t5,
                                        &transformer,
                                        &vision_encoder_decoder,
                                        &recurrent_lm,
                                        &seq2seq};
    return list;
}

const Architecture& architecture_named(std::string_view name, std::string_view file) {
    std::string known;
    for (const Architecture* one : all_architectures()) {
        if (name == one->name) return *one;
        known += (known.empty() ? "" : one == all_architectures().back() ? " and " : ", ") + std::string(one->name);
    }
    throw bad_file_error("{}: the architecture is {}, but supported are {}", file, in_quotes(std::string(name)), known);
}

Graph build_model(const ModelConfig& config, const BuildOptions& options, Graph::WeightTypes types) {
    Graph graph(std::move(types));
    build_into(graph, config, options);
    return graph;
}

void build_into(Graph& graph, const ModelConfig& config, const BuildOptions& options) {
    BuildOptions adjusted = options;
    if (config.is_vision() || (config.sees() && options.encoder))
        adjusted.rows = adjusted.context = config.image.places();  // an image is always processed in one run
    else if (config.sees())
        adjusted.source_context = config.image.places();
    if (config.row_by_row && !options.encoder) adjusted.rows = 1;
    ModelBuilder builder(graph, config, adjusted);
    const Architecture& architecture = architecture_named(config.architecture, "the model");
    (options.encoder ? architecture.details.build_encoder : architecture.build)(builder);
}

std::vector<Value> weights_in_files(const ModelConfig& config) {
    std::vector<Value> all;
    if (!config.towers.empty()) {  // names in a pair's graph are those of the files
        for (const ModelConfig& tower : config.towers)
            for (Value value : weights_in_files(tower)) {
                for (std::string& part : value.parts) part = checkpoint_prefixes(tower, part).front() + part;
                value.name = checkpoint_prefixes(tower, value.name).front() + value.name;
                all.push_back(std::move(value));
            }
        all.push_back({.type = {Shape{1}, DType::f32}, .name = pair_scale, .kind = ValueKind::weight});
        return all;
    }
    std::set<std::string> names;
    const auto add = [&](bool encoder) {
        const Graph graph =
            build_model(config, {.rows = 1, .context = std::min<std::int64_t>(config.context, 16), .encoder = encoder});
        for (const Value& value : graph.values())
            if (value.kind == ValueKind::weight && names.insert(value.name).second) all.push_back(value);
    };
    add(false);
    if (config.kind == ModelKind::encoder_decoder) add(true);
    return all;
}

std::vector<std::int64_t> sizes_in_files(const Value& weight, const Shape& shape) {
    if (weight.name == pair_scale) return {};
    const auto sizes = shape.sizes().subspan(weight.parts.empty() ? 0 : 1);
    return {sizes.begin(), sizes.end()};
}

std::vector<std::int32_t> token_positions(const ModelConfig& config, std::span<const std::int32_t> tokens) {
    return architecture_named(config.architecture, "the model").details.positions(config, tokens);
}

std::optional<std::int64_t> pooled_row(const ModelConfig& config, std::span<const std::int32_t> tokens) {
    const auto row_of = architecture_named(config.architecture, "the model").details.pooled_row;
    return row_of != nullptr ? std::optional(row_of(config, tokens)) : std::nullopt;
}

bool is_of_output_layer(const ModelConfig& config, const std::string& weight) {
    return std::ranges::any_of(architecture_named(config.architecture, "the model").details.bare,
                               [&](const char* begin) { return weight.starts_with(begin); });
}

bool is_bias_of_logits(const ModelConfig& config, const Value& weight) {
    return is_of_output_layer(config, weight.name) && weight.name.ends_with("bias") &&
           weight.type.shape.elements() == config.logit_columns();
}

std::vector<std::string> checkpoint_prefixes(const ModelConfig& config, const std::string& weight) {
    const Architecture& architecture = architecture_named(config.architecture, "the model");
    std::vector<std::string> prefixes(architecture.prefixes.begin(), architecture.prefixes.end());
    prefixes.insert(is_of_output_layer(config, weight) ? prefixes.begin() : prefixes.end(), std::string());
    return prefixes;
}

std::span<const char* const> optional_weights(const ModelConfig& config) {
    return architecture_named(config.architecture, "the model").details.optional;
}

bool is_ignored_tensor(const ModelConfig& config, const std::string& name) {
    const ArchitectureDetails& details = architecture_named(config.architecture, "the model").details;
    for (const char* end : details.ignored)
        if (name.ends_with(end)) return true;
    for (const char* begin : details.elsewhere)
        if (name.starts_with(begin)) return true;
    return config.tied && (name == "lm_head.weight" || name == "embed_out.weight");
}

}  // namespace vantage::internal
