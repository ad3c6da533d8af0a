#include "runtime/models/config.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/log.h"
#include "runtime/io/json.h"

namespace vantage {

namespace {

// Limits that no model of today reaches: beyond them a file is damaged, and products of sizes stay far below 2^63.
constexpr std::int64_t most_layers = 4096, most_width = 1 << 20, most_heads = 1 << 14, most_vocab = 1 << 24,
                       most_context = 1 << 28;

Activation activation_of(const JsonFields& fields, const char* key, const char* otherwise) {
    const std::string name = fields.optional_text(key).value_or(otherwise);
    if (name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_tanh" || name == "gelu_fast")
        return Activation::gelu_tanh;
    if (name == "gelu") return Activation::gelu_erf;
    if (name == "quick_gelu") return Activation::quick_gelu;
    if (name == "silu" || name == "swish") return Activation::silu;
    if (name == "relu") return Activation::relu;
    throw Error(ErrorKind::bad_file, fields.name() + ": \"" + key + "\" is " + in_quotes(name) +
                                         ", but built are gelu, gelu_new, quick_gelu, silu and relu");
}

void require_divides(const JsonFields& fields, const char* what, std::int64_t whole, const char* by,
                     std::int64_t part) {
    if (whole % part != 0)
        throw Error(ErrorKind::bad_file,
                    format("%s: \"%s\" is %lld, which is not divisible by \"%s\" %lld", fields.name().c_str(), what,
                           static_cast<long long>(whole), by, static_cast<long long>(part)));
}

void read_tokens(const JsonFields& fields, ModelConfig& config) {
    const std::vector<std::int64_t> ends = fields.integers("eos_token_id", -1, most_vocab);
    if (!ends.empty()) config.end_tokens = ends;
    config.end_tokens.erase(std::remove(config.end_tokens.begin(), config.end_tokens.end(), -1),
                            config.end_tokens.end());
}

void read_gpt2(const JsonFields& fields, ModelConfig& c) {
    c.layers = fields.integer("n_layer", 1, most_layers);
    c.width = fields.integer("n_embd", 1, most_width);
    c.heads = c.kv_heads = fields.integer("n_head", 1, most_heads);
    c.vocab = fields.integer("vocab_size", 1, most_vocab);
    c.context = fields.has("n_positions") ? fields.integer("n_positions", 1, most_context)
                                          : fields.integer("n_ctx", 1, most_context);
    c.inner = fields.optional_integer("n_inner", 1, most_width).value_or(4 * c.width);
    c.norm_eps = fields.optional_number("layer_norm_epsilon", 0, 1).value_or(1e-5);
    c.activation = activation_of(fields, "activation_function", "gelu_new");
    c.tied = fields.optional_flag("tie_word_embeddings").value_or(true);
    require_divides(fields, "n_embd", c.width, "n_head", c.heads);
    c.head_width = c.width / c.heads;
    c.attention_scale = fields.optional_flag("scale_attn_weights").value_or(true) ? 0 : 1;
    c.scale_by_layer = fields.optional_flag("scale_attn_by_inverse_layer_idx").value_or(false);
    if (fields.optional_flag("add_cross_attention").value_or(false))
        throw Error(ErrorKind::bad_file,
                    fields.name() +
                        ": \"add_cross_attention\" is true, but GPT-2 is built as a decoder without cross-attention");
}

// Peng et al., "YaRN" (2023).
void read_yarn(const JsonFields& rope, ModelConfig& c) {
    c.rope_scaling.beta_fast = rope.optional_number("beta_fast", 1e-3, 1e6).value_or(32);
    c.rope_scaling.beta_slow = rope.optional_number("beta_slow", 1e-3, 1e6).value_or(1);
    c.rope_scaling.attention_factor = rope.optional_number("attention_factor", 0, 1e3).value_or(0);
    c.rope_scaling.truncate = rope.optional_flag("truncate").value_or(true);
    c.rope_scaling.original_context =
        rope.optional_integer("original_max_position_embeddings", 1, most_context).value_or(c.context);
}

void require_whole_heads(const JsonFields& fields) {
    if (const double part = fields.optional_number("partial_rotary_factor", 0, 1).value_or(1); part != 1)
        throw Error(ErrorKind::bad_file, format("%s: \"partial_rotary_factor\" is %g, but Llama rotates whole heads",
                                                fields.name().c_str(), part));
}

// transformers 5 has one object rope_parameters; 4 has rope_theta beside rope_scaling, whose kind is called type or rope_type.
void read_rope(const JsonFields& fields, ModelConfig& c) {
    require_whole_heads(fields);
    c.rope_theta = fields.optional_number("rope_theta", 1, 1e12).value_or(10000);
    std::optional<JsonFields> rope = fields.optional_object("rope_parameters");
    if (!rope) rope = fields.optional_object("rope_scaling");
    if (!rope) return;
    require_whole_heads(*rope);
    c.rope_theta = rope->optional_number("rope_theta", 1, 1e12).value_or(c.rope_theta);
    const std::string kind =
        rope->has("rope_type") ? rope->text("rope_type") : rope->optional_text("type").value_or("default");
    if (kind == "default") return;
    if (kind != "linear" && kind != "llama3" && kind != "yarn")
        throw Error(ErrorKind::bad_file, fields.name() + ": rope scaling is " + in_quotes(kind) +
                                             ", but built are default, linear, llama3 and yarn");
    c.rope_scaling.type = kind;
    c.rope_scaling.factor = rope->number("factor", 1e-3, 1e6);
    if (kind == "linear") return;
    if (kind == "yarn") return read_yarn(*rope, c);
    c.rope_scaling.low_freq_factor = rope->number("low_freq_factor", 1e-3, 1e6);
    c.rope_scaling.high_freq_factor = rope->number("high_freq_factor", 1e-3, 1e6);
    c.rope_scaling.original_context = rope->integer("original_max_position_embeddings", 1, most_context);
    if (c.rope_scaling.high_freq_factor <= c.rope_scaling.low_freq_factor)
        rope->fail("high_freq_factor", "more than \"low_freq_factor\"");
}

void read_llama(const JsonFields& fields, ModelConfig& c) {
    c.layers = fields.integer("num_hidden_layers", 1, most_layers);
    c.width = fields.integer("hidden_size", 1, most_width);
    c.heads = fields.integer("num_attention_heads", 1, most_heads);
    c.kv_heads = fields.optional_integer("num_key_value_heads", 1, most_heads).value_or(c.heads);
    c.inner = fields.integer("intermediate_size", 1, most_width);
    c.vocab = fields.integer("vocab_size", 1, most_vocab);
    c.context = fields.optional_integer("max_position_embeddings", 1, most_context).value_or(2048);
    c.norm_eps = fields.optional_number("rms_norm_eps", 0, 1).value_or(1e-6);
    c.activation = activation_of(fields, "hidden_act", "silu");
    if (c.activation != Activation::silu)
        throw Error(ErrorKind::bad_file,
                    fields.name() + ": \"hidden_act\" is not silu, but Llama is built with SwiGLU");
    c.tied = fields.optional_flag("tie_word_embeddings").value_or(false);
    c.attention_bias = fields.optional_flag("attention_bias").value_or(false);
    c.mlp_bias = fields.optional_flag("mlp_bias").value_or(false);
    require_divides(fields, "num_attention_heads", c.heads, "num_key_value_heads", c.kv_heads);
    if (const auto width = fields.optional_integer("head_dim", 1, most_width)) {
        c.head_width = *width;
    } else {
        require_divides(fields, "hidden_size", c.width, "num_attention_heads", c.heads);
        c.head_width = c.width / c.heads;
    }
    if (c.head_width % 2 != 0)
        throw Error(ErrorKind::bad_file, format("%s: heads of width %lld cannot be rotated in pairs",
                                                fields.name().c_str(), static_cast<long long>(c.head_width)));
    read_rope(fields, c);
}

std::string architecture_of(const JsonFields& fields) {
    if (const auto type = fields.optional_text("model_type")) return *type;
    if (fields.has("architectures") && fields.list("architectures").is_array() &&
        !fields.list("architectures").empty() && fields.list("architectures")[0].is_string()) {
        const std::string name = fields.list("architectures")[0].get<std::string>();
        return name.rfind("GPT2", 0) == 0 ? "gpt2" : name.rfind("Llama", 0) == 0 ? "llama" : name;
    }
    fields.fail("model_type", "the architecture's name");
}

}  // namespace

double ModelConfig::scale(std::int64_t layer) const {
    const double base = attention_scale > 0 ? attention_scale : 1 / std::sqrt(static_cast<double>(head_width));
    return scale_by_layer ? base / static_cast<double>(layer + 1) : base;
}

ModelConfig parse_model_config(std::string_view json, const std::string& name) {
    const Json tree = parse_json(json, name);
    const JsonFields fields(tree, name);
    ModelConfig config;
    config.architecture = architecture_of(fields);
    if (config.architecture == "gpt2")
        read_gpt2(fields, config);
    else if (config.architecture == "llama")
        read_llama(fields, config);
    else
        throw Error(ErrorKind::bad_file, name + ": the architecture is " + in_quotes(config.architecture) +
                                             ", but built are gpt2 and llama");
    if (config.head_width > 256)
        throw Error(ErrorKind::bad_file, format("%s: heads are %lld wide, but attention is built for widths up to 256",
                                                name.c_str(), static_cast<long long>(config.head_width)));
    read_tokens(fields, config);
    return config;
}

void apply_generation_config(ModelConfig& config, std::string_view json, const std::string& name) {
    const Json tree = parse_json(json, name);
    const JsonFields fields(tree, name);
    read_tokens(fields, config);
    config.temperature = fields.optional_number("temperature", 0, 100).value_or(0);
    config.top_p = fields.optional_number("top_p", 0, 1).value_or(1);
    config.top_k = fields.optional_integer("top_k", 0, most_vocab).value_or(0);
    config.repetition_penalty = fields.optional_number("repetition_penalty", 1e-3, 1e3).value_or(1);
}

}  // namespace vantage
