// config.json of a GGUF file.
#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/base/format.h"
#include "runtime/checkpoint/gguf_family.h"
#include "runtime/checkpoint/gguf_model.h"

namespace vantage::internal {

namespace {

constexpr const char *llama_factors = "rope_freqs.weight", *short_factors = "rope_factors_short.weight",
                     *long_factors = "rope_factors_long.weight";

[[noreturn]] void refuse(const Gguf& file, const std::string& what) {
    throw unsupported_error("{}: {} is not read from GGUF yet; use a folder of safetensors", file.name(), what);
}

Json end_tokens(const JsonFields& fields) {
    std::vector<std::int64_t> ends;
    for (const char* key : {"eos", "eot", "eom"})
        if (const auto id =
                fields.optional_integer(format("tokenizer.ggml.{}_token_id", key), 0, std::int64_t{1} << 32))
            if (std::ranges::find(ends, *id) == ends.end()) ends.push_back(*id);
    return ends;
}

// Columns of the layers' last matrices: some converters write 4 times the width for the key, whatever it is.
std::int64_t inner_width(const GgufKeys& keys) {
    for (const char* name : {"blk.0.ffn_down.weight", "blk.0.ffn_down_exps.weight"}) {
        const auto found = keys.file().entries().find(name);
        if (found != keys.file().entries().end() && found->second.shape.size() >= 2) return found->second.shape.back();
    }
    return keys.integer("feed_forward_length");
}

// ---- rotary positions -----------------------------------------------------------------------------------------------

// One factor for each pair: of Llama 3.1 and later, or LongRoPE's two lists.
Json given_factors(const GgufKeys& keys, std::int64_t context) {
    const bool one_list = keys.has_tensor(llama_factors);
    const std::int64_t original = keys.optional_integer("rope.scaling.original_context_length").value_or(context);
    Json scaling = {{"rope_type", "longrope"},
                    {"short_factor", keys.numbers(one_list ? llama_factors : short_factors)},
                    {"long_factor", keys.numbers(one_list ? llama_factors : long_factors)},
                    {"original_max_position_embeddings", one_list ? context : original}};
    if (one_list) scaling["attention_factor"] = 1;  // of LongRoPE it follows from both contexts
    return scaling;
}

Json yarn(const GgufKeys& keys, std::int64_t context) {
    Json scaling = {{"rope_type", "yarn"}};
    scaling["original_max_position_embeddings"] =
        keys.optional_integer("rope.scaling.original_context_length").value_or(context);
    for (const auto& [key, name] : {std::pair{"rope.scaling.factor", "factor"},
                                    {"rope.scaling.yarn_beta_fast", "beta_fast"},
                                    {"rope.scaling.yarn_beta_slow", "beta_slow"},
                                    {"rope.scaling.yarn_attn_factor", "attention_factor"}})
        if (const auto number = keys.optional_number(key)) scaling[name] = *number;
    if (const auto truncate = keys.optional_flag("rope.scaling.yarn_truncate")) scaling["truncate"] = *truncate;
    return scaling;
}

// Null: positions are not scaled.
Json rope_scaling(const GgufKeys& keys, std::int64_t context) {
    const std::string type = keys.optional_text("rope.scaling.type").value_or("none");
    const auto factor = keys.optional_number("rope.scaling.factor");
    if (keys.has_tensor(llama_factors) || keys.has_tensor(short_factors)) {
        if (type != "none" && type != "longrope")
            refuse(keys.file(), "a list of factors for " + in_quotes(type) + " positions");
        return given_factors(keys, context);
    }
    if (keys.optional_number("rope.scaling.attn_factor").value_or(1) != 1 && type != "longrope")
        refuse(keys.file(), keys.name("rope.scaling.attn_factor"));
    if (type == "yarn") return yarn(keys, context);
    if (type == "linear" && factor) return {{"rope_type", "linear"}, {"factor", *factor}};
    if (const auto older = keys.optional_number("rope.scale_linear"); older && *older != 1)
        return {{"rope_type", "linear"}, {"factor", *older}};
    if (type != "none") refuse(keys.file(), keys.name("rope.scaling.type") + " " + in_quotes(type));
    if (factor.value_or(1) != 1) refuse(keys.file(), keys.name("rope.scaling.factor"));
    return nullptr;
}

void add_positions(const GgufKeys& keys, std::int64_t context, Json& config) {
    config["rope_theta"] = keys.optional_number("rope.freq_base").value_or(10000);
    const std::int64_t width = keys.head_width(),
                       turned = keys.optional_integer("rope.dimension_count").value_or(width);
    // Half a feature more: who reads it rounds the product with the width of a head down.
    if (turned != width && width > 0)
        config["partial_rotary_factor"] =
            std::min(1.0, (static_cast<double>(turned) + 0.5) / static_cast<double>(width));
    if (Json scaling = rope_scaling(keys, context); !scaling.is_null()) config["rope_scaling"] = std::move(scaling);
}

void refuse_unread(const GgufKeys& keys) {
    const JsonFields& fields = keys.fields();
    constexpr std::int64_t quantization_version = 2;  // of ggml's blocks, since 2023
    if (const auto version = fields.optional_integer("general.quantization_version", 0, std::int64_t{1} << 32);
        version.value_or(quantization_version) != quantization_version)
        refuse(keys.file(), format("general.quantization_version {}", *version));
    if (keys.optional_integer("expert_count").value_or(0) > 0 &&
        family_of(keys.file()).model_type != std::string_view("mixtral"))
        refuse(keys.file(), "a mixture of experts of this architecture");
}

}  // namespace

std::string gguf_config_json(const Gguf& file) {
    const GgufFamily& family = family_of(file);
    const GgufKeys keys(file);
    refuse_unread(keys);
    const auto embedding = file.entries().find("token_embd.weight");
    if (embedding == file.entries().end() || embedding->second.shape.size() != 2)
        throw bad_file_error("{}: there is no matrix \"token_embd.weight\"", file.name());
    const std::int64_t context = keys.integer("context_length");
    Json config = {{"model_type", family.model_type},
                   {"vocab_size", embedding->second.shape[0]},
                   {"hidden_size", keys.integer("embedding_length")},
                   {"intermediate_size", inner_width(keys)},
                   {"num_hidden_layers", keys.integer("block_count")},
                   {"num_attention_heads", keys.integer("attention.head_count")},
                   {"num_key_value_heads", keys.kv_heads()},
                   {"max_position_embeddings", context},
                   {"tie_word_embeddings", !keys.has_tensor("output.weight")},
                   {"eos_token_id", end_tokens(keys.fields())}};
    if (const auto eps = keys.optional_number("attention.layer_norm_rms_epsilon")) config["rms_norm_eps"] = *eps;
    if (const auto eps = keys.optional_number("attention.layer_norm_epsilon"))
        config["layer_norm_eps"] = config["layer_norm_epsilon"] = *eps;
    if (const auto width = keys.optional_integer("attention.key_length")) config["head_dim"] = *width;
    config["ffn_hidden_size"] = config["intermediate_size"];
    add_positions(keys, context, config);
    family.config(keys, config);
    return config.dump();
}

}  // namespace vantage::internal
