// config.json of a GGUF file.
#include <algorithm>
#include <cmath>

#include "runtime/base/errors.h"
#include "runtime/base/format.h"
#include "runtime/checkpoint/gguf_family.h"
#include "runtime/checkpoint/gguf_model.h"

namespace vantage::internal {

namespace {

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
    if (keys.has_tensor(llama_factors)) {
        const std::vector<double> factors = keys.numbers(llama_factors);
        return {{"rope_type", "longrope"},
                {"short_factor", factors},
                {"long_factor", factors},
                {"original_max_position_embeddings", context},
                {"attention_factor", 1}};
    }
    const std::int64_t original = keys.optional_integer("rope.scaling.original_context_length").value_or(context);
    Json scaling = {{"rope_type", "longrope"},
                    {"short_factor", keys.numbers(short_factors)},
                    {"long_factor", keys.numbers(long_factors)},
                    {"original_max_position_embeddings", original}};
    // By default it follows from both contexts; the file has that number rounded.
    const double stretch = static_cast<double>(context) / static_cast<double>(std::max<std::int64_t>(original, 2)),
                 usual = stretch > 1 ? std::sqrt(1 + std::log(stretch) / std::log(static_cast<double>(original))) : 1;
    if (const auto factor = keys.optional_number("rope.scaling.attn_factor");
        factor && std::abs(*factor - usual) > 1e-5 * usual)
        scaling["attention_factor"] = *factor;
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
    if (keys.has_tensor(llama_factors) || keys.has_tensor(short_factors) || keys.has_tensor(long_factors)) {
        if (factor.value_or(1) != 1) refuse(keys.file(), keys.name("rope.scaling.factor") + " beside factors");
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
    if (turned > width || (turned != width && family_of(keys.file()).change == GgufChange::rotary_pairs))
        refuse(keys.file(), format("{} {} of heads of {} features", keys.name("rope.dimension_count"), turned, width));
    // Half a feature more: who reads it rounds the product with the width of a head down.
    config["partial_rotary_factor"] =
        turned == width ? 1.0 : (static_cast<double>(turned) + 0.5) / static_cast<double>(width);
    if (Json scaling = rope_scaling(keys, context); !scaling.is_null()) config["rope_scaling"] = std::move(scaling);
}

void refuse_unread(const GgufKeys& keys) {
    const JsonFields& fields = keys.fields();
    constexpr std::int64_t quantization_version = 2;  // of ggml's blocks, since 2023
    if (const auto version = fields.optional_integer("general.quantization_version", 0, std::int64_t{1} << 32);
        version.value_or(quantization_version) != quantization_version)
        refuse(keys.file(), format("general.quantization_version {}", *version));
    // Keys that change numbers, with the value that changes none.
    static const std::vector<std::pair<const char*, Json>> neutral{
        {"attention.causal", true},          {"attention.scale", 0},
        {"attention.sliding_window", 0},     {"expert_count", 0},
        {"expert_gating_func", 1},           {"expert_shared_count", 0},
        {"rope.scaling.yarn_ext_factor", 1}, {"rope.scaling.yarn_log_multiplier", 0}};
    const std::string_view read = family_of(keys.file()).reads;
    for (const auto& [key, value] : neutral)
        if (const auto found = keys.file().metadata().find(keys.name(key));
            key != read && found != keys.file().metadata().end() && *found != value)
            refuse(keys.file(), keys.name(key) + " " + describe(*found));
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
    const auto rms = keys.optional_number("attention.layer_norm_rms_epsilon"),
               eps = keys.optional_number("attention.layer_norm_epsilon");
    if (!rms && !eps)
        throw bad_file_error("{}: {} is missing", file.name(),
                             in_quotes(keys.name("attention.layer_norm_rms_epsilon")));
    if (rms) config["rms_norm_eps"] = *rms;
    if (eps) config["layer_norm_eps"] = config["layer_norm_epsilon"] = *eps;
    config["head_dim"] = keys.head_width();
    config["ffn_hidden_size"] = config["intermediate_size"];
    add_positions(keys, context, config);
    family.config(keys, config);
    return config.dump();
}

std::string gguf_generation_json(const Gguf& file) {
    Json config = Json::object();
    for (const auto& [key, name] : {std::pair{"temp", "temperature"},
                                    {"top_k", "top_k"},
                                    {"top_p", "top_p"},
                                    {"penalty_repeat", "repetition_penalty"}}) {
        const auto found = file.metadata().find(std::string("general.sampling.") + key);
        if (found != file.metadata().end()) config[name] = *found;
    }
    return config.empty() ? std::string() : config.dump();
}

}  // namespace vantage::internal
