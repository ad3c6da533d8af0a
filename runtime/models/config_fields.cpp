#include "runtime/models/config_fields.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/base/format.h"

namespace vantage::internal {

const char* one_key(const JsonFields& fields, Keys keys) {
    for (const char* key : keys)
        if (fields.has(key)) return key;
    return *std::prev(keys.end());
}

std::int64_t one_integer(const JsonFields& fields, Keys keys, std::int64_t maximum) {
    return fields.integer(one_key(fields, keys), 1, maximum);
}

void require_divides(const JsonFields& fields, const char* what, std::int64_t whole, const char* by,
                     std::int64_t part) {
    if (whole % part != 0)
        throw bad_file_error("{}: \"{}\" is {}, which is not divisible by \"{}\" {}", fields.name(), what, whole, by,
                             part);
}

void divide_heads(const JsonFields& fields, ModelConfig& c, const char* width_key, const char* heads_key) {
    require_divides(fields, width_key, c.width, heads_key, c.heads);
    c.head_width = c.width / c.heads;
}

void read_block_sizes(const JsonFields& fields, ModelConfig& c, Keys layers, Keys width, Keys heads) {
    c.layers = one_integer(fields, layers, max_layers);
    c.width = one_integer(fields, width, max_width);
    c.heads = c.kv_heads = one_integer(fields, heads, max_heads);
    divide_heads(fields, c, one_key(fields, width), one_key(fields, heads));
}

void read_sizes(const JsonFields& fields, ModelConfig& c, const FieldDefaults& defaults) {
    const auto optional = [&](const char* key, std::int64_t maximum, std::int64_t absent) {
        return fields.json().contains(key) ? fields.optional_integer(key, 1, maximum).value_or(0) : absent;
    };
    c.layers = fields.integer("num_hidden_layers", 1, max_layers);
    c.width = fields.integer("hidden_size", 1, max_width);
    c.heads = fields.integer("num_attention_heads", 1, max_heads);
    c.kv_heads = optional("num_key_value_heads", max_heads, defaults.kv_heads);
    if (c.kv_heads == 0) c.kv_heads = c.heads;
    c.inner = optional("intermediate_size", max_width, defaults.inner);
    if (c.inner == 0) c.inner = defaults.inner > 0 ? defaults.inner : fields.integer("intermediate_size", 1, max_width);
    c.vocab = fields.integer("vocab_size", 1, max_vocab);
    c.context = fields.optional_integer("max_position_embeddings", 1, max_context).value_or(defaults.context);
    require_divides(fields, "num_attention_heads", c.heads, "num_key_value_heads", c.kv_heads);
    c.head_width = optional("head_dim", max_width, defaults.head_width);
    if (c.head_width == 0) divide_heads(fields, c, "hidden_size", "num_attention_heads");
}

namespace {

// id2label {"0": "NEGATIVE", …}, or num_labels, or the two that transformers takes.
void read_labels(const JsonFields& fields, ModelConfig& c) {
    const std::optional<JsonFields> names = fields.optional_object("id2label");
    const std::int64_t count =
        names ? std::ssize(names->json()) : fields.optional_integer("num_labels", 1, 1 << 16).value_or(2);
    if (count == 0) fields.fail("id2label", "a name for each label");
    const std::string problem = fields.optional_text("problem_type").value_or("");
    if (problem == "regression")
        c.labelling = Labelling::numbers;
    else if (problem == "multi_label_classification" || count == 1)
        c.labelling = Labelling::each;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::string key = std::to_string(i);
        c.labels.push_back(names ? names->text(key) : "LABEL_" + key);
    }
}

}  // namespace

std::string class_of(const JsonFields& fields) {
    if (!fields.has("architectures") || fields.list("architectures").empty()) return {};
    const Json& name = fields.list("architectures")[0];
    return name.is_string() ? name.get<std::string>() : std::string();
}

void read_head(const JsonFields& fields, ModelConfig& c) {
    c.kind = ModelKind::encoder;
    const std::string name = class_of(fields);
    if (name.ends_with("ForMaskedLM") || name.ends_with("ForPreTraining")) {
        c.head = Head::masked_lm;
    } else if (name.ends_with("Classification")) {
        c.head = name.ends_with("TokenClassification") ? Head::token_classification : Head::classification;
        read_labels(fields, c);
    } else if (name.ends_with("ForQuestionAnswering")) {
        c.head = Head::question_answering;
        c.labels = {"begins", "ends"};
    } else if (!name.empty() && !name.ends_with("Model")) {
        throw bad_file_error(fields.name() + ": \"architectures\" is " + in_quotes(name) +
                             ", but supported are …Model, …ForMaskedLM, …ForPreTraining, …ForSequenceClassification, "
                             "…ForTokenClassification, …ForQuestionAnswering and …ForImageClassification");
    }
}

void read_experts(const JsonFields& fields, ModelConfig& c, std::int64_t experts, std::int64_t per_token) {
    const char* key = fields.has("num_local_experts") ? "num_local_experts" : "num_experts";
    c.experts = fields.optional_integer(key, 1, max_experts).value_or(experts);
    c.experts_per_token = fields.optional_integer("num_experts_per_tok", 1, 64).value_or(per_token);
    if (c.experts_per_token > c.experts)
        fields.fail("num_experts_per_tok", format("at most the {} experts", c.experts));
    if (fields.optional_flag("output_router_logits").value_or(false))
        c.load_balance = fields.optional_number("router_aux_loss_coef", 0, 1e6).value_or(0.001);
}

Activation read_activation(const JsonFields& fields, const char* key, const char* default_value) {
    return activation_of(fields, key, fields.optional_text(key).value_or(default_value));
}

Activation activation_of(const JsonFields& fields, const char* key, const std::string& name) {
    for (const char* tanh_form :
         {"gelu_new", "gelu_pytorch_tanh", "gelu_python_tanh", "gelu_tanh", "gelu_fast", "gelu_accurate"})
        if (name == tanh_form) return Activation::gelu_tanh;
    if (name == "gelu" || name == "gelu_python") return Activation::gelu_erf;
    if (name == "quick_gelu") return Activation::quick_gelu;
    if (name == "silu" || name == "swish") return Activation::silu;
    if (name == "relu") return Activation::relu;
    if (name == "relu2") return Activation::relu2;
    if (name == "sigmoid") return Activation::sigmoid;
    if (name == "tanh") return Activation::tanh;
    throw bad_file_error(fields.name() + ": \"" + key + "\" is " + in_quotes(name) +
                         ", but supported are gelu, gelu_new, quick_gelu, silu, relu, relu2, sigmoid and tanh");
}

void read_start(const JsonFields& fields, ModelConfig& c, std::int64_t default_value) {
    const std::string name = class_of(fields);
    if (!name.empty() && !name.ends_with("ForConditionalGeneration") &&
        (!name.ends_with("Model") || name.ends_with("EncoderModel")))
        throw bad_file_error(fields.name() + ": \"architectures\" is " + in_quotes(name) +
                             ", but supported are …ForConditionalGeneration and …Model");
    c.start_token = fields.optional_integer("decoder_start_token_id", 0, c.vocab - 1).value_or(default_value);
    if (c.start_token >= c.vocab) fields.fail("decoder_start_token_id", "a token of the vocabulary");
    c.forced_first_token = fields.optional_integer("forced_bos_token_id", 0, c.vocab - 1).value_or(-1);
}

bool read_tied(const JsonFields& fields, bool default_value) {
    return fields.optional_flag("tie_word_embeddings").value_or(default_value);
}

double read_initializer_range(const JsonFields& fields, double default_value) {
    return fields.optional_number(one_key(fields, {"initializer_range", "init_std"}), 0, 1e3).value_or(default_value);
}

std::int64_t read_window(const JsonFields& fields, std::int64_t default_value) {
    if (!fields.json().contains("sliding_window")) return default_value;
    return fields.optional_integer("sliding_window", 1, max_context).value_or(0);
}

void read_windows(const JsonFields& fields, ModelConfig& c, std::int64_t window,
                  const std::function<bool(std::int64_t)>& slides) {
    if (window == 0) return;
    const bool listed = fields.has("layer_types");
    if (listed && std::ssize(fields.list("layer_types")) != c.layers) fields.fail("layer_types", "one for each layer");
    for (std::int64_t layer = 0; layer < c.layers; ++layer) {
        if (!listed) {
            c.windows.push_back(slides(layer) ? window : 0);
            continue;
        }
        const Json& type = at(fields.list("layer_types"), layer);
        if (type != "sliding_attention" && type != "full_attention")
            fields.fail("layer_types", "sliding_attention or full_attention for each layer");
        c.windows.push_back(type == "sliding_attention" ? window : 0);
    }
}

// ---- rotary positions ------------------------------------------------------------------------------------------------

namespace {

double yarn_scale(double factor, double weight) { return factor <= 1 ? 1 : 0.1 * weight * std::log(factor) + 1; }

// The context that a model was first trained with: beside the scaling, else in it, else all of the context.
std::int64_t original_context(const JsonFields& fields, const JsonFields& rope, const ModelConfig& c,
                              std::int64_t minimum) {
    const char* key = "original_max_position_embeddings";
    return (fields.has(key) ? fields : rope).optional_integer(key, minimum, max_context).value_or(c.context);
}

double stretch(const JsonFields& rope, const ModelConfig& c) {
    return rope.optional_number("factor", 1e-3, 1e6)
        .value_or(static_cast<double>(c.context) / static_cast<double>(c.rope_scaling.original_context));
}

// Peng et al., "YaRN" (2023).
void read_yarn(const JsonFields& fields, const JsonFields& rope, ModelConfig& c) {
    c.rope_scaling.original_context = original_context(fields, rope, c, 1);
    c.rope_scaling.factor = stretch(rope, c);
    c.rope_scaling.beta_fast = rope.optional_number("beta_fast", 1e-3, 1e6).value_or(32);
    c.rope_scaling.beta_slow = rope.optional_number("beta_slow", 1e-3, 1e6).value_or(1);
    c.rope_scaling.attention_factor = rope.optional_number("attention_factor", 0, 1e3).value_or(0);
    const double weight = rope.optional_number("mscale", 0, 1e3).value_or(0),
                 whole = rope.optional_number("mscale_all_dim", 0, 1e3).value_or(0);
    if (weight > 0 && whole > 0 && !rope.has("attention_factor"))
        c.rope_scaling.attention_factor =
            yarn_scale(c.rope_scaling.factor, weight) / yarn_scale(c.rope_scaling.factor, whole);
    c.rope_scaling.truncate = rope.optional_flag("truncate").value_or(true);
}

void read_llama3(const JsonFields& fields, const JsonFields& rope, ModelConfig& c) {
    c.rope_scaling.factor = rope.number("factor", 1e-3, 1e6);
    c.rope_scaling.low_freq_factor = rope.number("low_freq_factor", 1e-3, 1e6);
    c.rope_scaling.high_freq_factor = rope.number("high_freq_factor", 1e-3, 1e6);
    c.rope_scaling.original_context = original_context(fields, rope, c, 1);
    if (c.rope_scaling.high_freq_factor <= c.rope_scaling.low_freq_factor)
        rope.fail("high_freq_factor", "more than \"low_freq_factor\"");
}

// Ding et al., "LongRoPE" (2024), as Phi-3 has it: one factor for each pair, of a short and of a long context.
void read_longrope(const JsonFields& fields, const JsonFields& rope, ModelConfig& c) {
    const auto factors = [&](const char* key) {
        std::vector<double> list;
        for (const Json& factor : rope.list(key))
            if (factor.is_number() && factor.get<double>() >= 1e-3 && factor.get<double>() <= 1e6)
                list.push_back(factor.get<double>());
        if (list.size() != rope.list(key).size() || std::ssize(list) != c.rotary_width / 2)
            rope.fail(key, format("{} numbers from 0.001 to 1e6", c.rotary_width / 2));
        return list;
    };
    c.rope_scaling.factors = factors("short_factor");
    c.rope_long_factors = factors("long_factor");
    c.rope_scaling.original_context = original_context(fields, rope, c, 2);
    c.rope_scaling.factor = stretch(rope, c);
    c.rope_scaling.attention_factor = rope.optional_number("attention_factor", 0, 1e3).value_or(0);
    // the long angles are for long contexts only: who wants one says so
    c.default_context = std::min(c.context, c.rope_scaling.original_context);
}

void read_scaling(const JsonFields& fields, const JsonFields& rope, ModelConfig& c) {
    c.rope_scaling = {};
    std::string kind = rope.has("rope_type") ? rope.text("rope_type") : rope.optional_text("type").value_or("default");
    // its first names, in Phi-3's files
    if (kind == "su" || (kind == "yarn" && rope.has("short_factor"))) kind = "longrope";
    // "dynamic" stretches only beyond the context that the model allows, where no session goes
    if (kind == "default" || kind == "dynamic") return;
    if (kind != "linear" && kind != "llama3" && kind != "yarn" && kind != "longrope")
        throw bad_file_error(fields.name() + ": rope scaling is " + in_quotes(kind) +
                             ", but supported are default, linear, llama3, yarn and longrope");
    c.rope_scaling.type = kind;
    if (kind == "yarn" && c.rope_theta <= 1) rope.fail("rope_theta", "a number above 1");
    if (kind == "linear") c.rope_scaling.factor = rope.number("factor", 1e-3, 1e6);
    if (kind == "llama3") read_llama3(fields, rope, c);
    if (kind == "yarn") read_yarn(fields, rope, c);
    if (kind == "longrope") read_longrope(fields, rope, c);
}

}  // namespace

// transformers 5 has one object rope_parameters; 4 has rope_theta beside rope_scaling, whose kind is called type or
// rope_type. GPT-NeoX called them rotary_emb_base and rotary_pct.
void read_rope(const JsonFields& fields, ModelConfig& c, double theta, double share) {
    std::optional<JsonFields> rope = fields.optional_object("rope_parameters");
    const std::optional<JsonFields> scaling = fields.optional_object("rope_scaling");
    if (rope && scaling && rope->json() != scaling->json())
        fields.fail("rope_scaling", "one of rope_scaling and rope_parameters, or both alike");
    if (!rope) rope = scaling;
    if (rope)
        for (const auto& [key, value] : rope->json().items())
            if (value.is_object())
                fields.fail(fields.has("rope_parameters") ? "rope_parameters" : "rope_scaling",
                            "one for all layers; one for each kind of layer is not supported");
    const auto number = [&](const char* key, const char* older, double low, double high, double default_value) {
        const char* named = fields.has(key) ? key : older;
        const std::optional<double> outside = fields.optional_number(named, low, high);
        if (!rope || !rope->has(key)) return outside.value_or(default_value);
        const double inside = rope->number(key, low, high);
        if (outside && *outside != inside)
            fields.fail(named, format("the {:g} that the rope's own object has", inside));
        return inside;
    };
    c.rope_theta = number("rope_theta", "rotary_emb_base", 1, 1e12, theta);
    share = number("partial_rotary_factor", "rotary_pct", 0, 1, share);
    const auto turned = static_cast<std::int64_t>(share * static_cast<double>(c.head_width));
    const bool odd = turned % 2 != 0;
    c.rotary_width = turned + (odd ? 1 : 0);
    // a quarter of 12 features: transformers turns 4, by the angles θ^(-2i/3), which are those of a larger θ for 4
    if (odd) c.rope_theta = std::pow(c.rope_theta, static_cast<double>(c.rotary_width) / static_cast<double>(turned));
    if (rope) read_scaling(fields, *rope, c);
    const bool counted = c.rope_scaling.type == "yarn" || c.rope_scaling.type == "longrope";  // pairs have numbers
    if (turned == 0 || c.rotary_width > c.head_width || (odd && counted))
        throw bad_file_error("{}: {} features of heads of width {} cannot be rotated in pairs", fields.name(), turned,
                             c.head_width);
}

}  // namespace vantage::internal
