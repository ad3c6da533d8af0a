// CLIP: an encoder of texts and one of images (its towers) each give a vector, whose cosine tells how well they fit.
//   both towers, per block:  x += attention(ln_1(x)),  x += mlp(ln_2(x))
//   text:   x = token + position; causal;  P ln(x_e), e the first end token (or the largest id, in older configs)
//   image:  x = ln([class; W patch] + position);  P ln(x_0)
//   logits of texts for an image: exp(logit_scale) · cosine
// Radford et al., "Learning Transferable Visual Models From Natural Language Supervision" (2021).
#include <algorithm>
#include <cmath>
#include <numbers>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/models/vit.h"

namespace vantage::internal {

namespace {

constexpr std::int64_t older_end_token = 2;  // written by old configs, whatever the end token is
constexpr const char *projection = "projection", *end_token = "end_token";
/// Factors of the initial weights, of a tower and of its projection.
constexpr const char *initial_factor = "initializer_factor", *projection_factor = "projection_initializer_factor";

// Sizes that a config omits are those of ViT-B/32.
struct TowerDefaults {
    std::int64_t width, inner, heads;
};

double read_factor(const JsonFields& fields) { return fields.optional_number(initial_factor, 0, 1e3).value_or(1); }

void read_tower(const JsonFields& fields, ModelConfig& c, const TowerDefaults& sizes) {
    const auto size = [&](const char* key, std::int64_t most, std::int64_t absent) {
        return fields.optional_integer(key, 1, most).value_or(absent);
    };
    c.kind = ModelKind::encoder;
    c.layers = size("num_hidden_layers", max_layers, 12);
    c.width = size("hidden_size", max_width, sizes.width);
    c.heads = c.kv_heads = size("num_attention_heads", max_heads, sizes.heads);
    divide_heads(fields, c, "hidden_size", "num_attention_heads");
    c.inner = size("intermediate_size", max_width, sizes.inner);
    c.norm_eps = fields.optional_number("layer_norm_eps", 0, 1).value_or(1e-5);
    c.activation = read_activation(fields, "hidden_act", "quick_gelu");
    c.tied = false;
    c.initializer_range = read_initializer_range(fields, 0.02);
    c.own.set(initial_factor, read_factor(fields));
}

void read_text_tower(const JsonFields& fields, ModelConfig& c) {
    read_tower(fields, c, {.width = 512, .inner = 2048, .heads = 8});
    c.causal_encoder = true;
    c.vocab = fields.optional_integer("vocab_size", 1, max_vocab).value_or(49408);
    c.context = fields.optional_integer("max_position_embeddings", 1, max_context).value_or(77);
    c.own.set(end_token, fields.optional_integer("eos_token_id", 0, max_vocab).value_or(49407));
}

void read_image_tower(const JsonFields& fields, ModelConfig& c) {
    read_tower(fields, c, {.width = 768, .inner = 3072, .heads = 12});
    c.image = read_image_input(fields, 32);
    c.context = c.image.places();
}

void read_projection(const JsonFields& fields, ModelConfig& c) {
    c.own.set(projection, fields.optional_integer("projection_dim", 1, max_width).value_or(512));
    c.own.set(projection_factor, read_factor(fields));
}

// A tower in a file of its own: CLIPTextModel, CLIPTextModelWithProjection and the same of Vision.
void read_own_projection(const JsonFields& fields, ModelConfig& c, const std::string& bare) {
    const std::string of = class_of(fields);
    if (of == bare + "WithProjection") return read_projection(fields, c);
    if (!of.empty() && of != bare) fields.fail("architectures", bare + " or " + bare + "WithProjection");
}

void read_clip(const JsonFields& fields, ModelConfig& c) {
    if (const std::string of = class_of(fields); !of.empty() && of != "CLIPModel")
        throw bad_file_error(fields.name() + ": \"architectures\" is " + in_quotes(of) +
                             ", but supported is CLIPModel");
    const bool sees = c.tower == Tower::image;
    const JsonFields tower = fields.object(sees ? "vision_config" : "text_config");
    (sees ? read_image_tower : read_text_tower)(tower, c);
    read_projection(fields, c);
    c.own.set(pair_scale, fields.optional_number("logit_scale_init_value", -100, 100).value_or(2.6592));
    c.architecture = (sees ? clip_vision_model : clip_text_model).name;
}

Tensor clip_blocks(ModelBuilder& d, Tensor first) {
    const ModelConfig& c = d.config;
    return d.blocks("encoder.layers", first, [&](std::int64_t layer, Tensor x) {
        const Tensor y = d.layer_norm("layer_norm1", x);
        const auto heads = [&](const char* name) { return d.heads(d.dense(name, y, c.width, true), c.heads); };
        const Tensor seen =
            d.attend(layer, heads("self_attn.q_proj"), heads("self_attn.k_proj"), heads("self_attn.v_proj"));
        x = x + d.drop(d.dense("self_attn.out_proj", seen, c.width, true));
        const Tensor inner = activate(d.dense("mlp.fc1", d.layer_norm("layer_norm2", x), c.inner, true), c.activation);
        return x + d.drop(d.dense("mlp.fc2", inner, c.width, true));
    });
}

Tensor projected(ModelBuilder& d, const char* name, Tensor rows) {
    return d.dense(name, rows, d.config.own.integer(projection), false);
}

void output_pooled(ModelBuilder& d, const char* name, Tensor rows) {
    d.graph.output(model_names::pooled, d.config.own.has(projection) ? projected(d, name, rows) : rows);
}

Tensor text_blocks(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    return clip_blocks(d, d.embed(d.graph.weight("embeddings.token_embedding.weight", {c.vocab, c.width}),
                                  d.graph.weight("embeddings.position_embedding.weight", {c.context, c.width})));
}

void build_text_tower(ModelBuilder& d) {
    const Tensor last = text_blocks(d);
    d.finish_encoder(last);
    const Tensor normed = d.layer_norm("final_layer_norm", last);
    d.graph.output(model_names::last_hidden, normed);
    output_pooled(d, "text_projection", normed);  // of every token: where the text ends is known to the host
}

Tensor image_blocks(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    const Tensor embedded =
        embed_image(d, "embeddings.patch_embedding", false, d.graph.weight("embeddings.class_embedding", {c.width}),
                    d.graph.weight("embeddings.position_embedding.weight", {c.image.places(), c.width}));
    return clip_blocks(d, d.layer_norm("pre_layrnorm", embedded));
}
Tensor image_rows(ModelBuilder& d, Tensor last) { return d.layer_norm("post_layernorm", d.first_row(last)); }

void build_image_tower(ModelBuilder& d) {
    const Tensor last = image_blocks(d);
    d.finish_encoder(last);
    output_pooled(d, "visual_projection", image_rows(d, last));
}

// Both towers in one graph, which is only trained.
void build_pair(ModelBuilder& d) {
    if (!d.trains()) throw usage_error("clip: a session has one of the two towers");
    const ModelConfig &text = d.config.towers.front(), &image = d.config.towers.back();
    ModelBuilder texts(d, text);
    Tensor text_rows, seen;
    {
        const Graph::Scope scope = d.graph.scope("text_model");
        const Tensor ends = d.training_input(model_names::ends, {d.options.sequences});
        text_rows = embedding(ends, texts.layer_norm("final_layer_norm", text_blocks(texts)));
    }
    BuildOptions options = d.options;
    options.rows = options.context = image.image.places();
    ModelBuilder images(d.graph, image, options);
    {
        const Graph::Scope scope = d.graph.scope("vision_model");
        seen = image_rows(images, image_blocks(images));
    }
    d.options.training->pair(projected(texts, "text_projection", text_rows),
                             projected(images, "visual_projection", seen), d.graph.weight(pair_scale, {1}));
}

// As transformers has it: without an end token the first row.
std::int64_t end_of_text(const ModelConfig& c, std::span<const std::int32_t> tokens) {
    const std::int64_t end = c.own.integer(end_token);
    const auto found = end == older_end_token ? std::ranges::max_element(tokens)
                                              : std::ranges::find(tokens, static_cast<std::int32_t>(end));
    return found == tokens.end() ? 0 : found - tokens.begin();
}

// Names of a pair's weights are those of the files: with the prefix of the tower.
Initializer initial_clip(const ModelConfig& c, const NamedTensor& tensor);
Initializer initial_pair(const ModelConfig& c, const NamedTensor& tensor) {
    if (tensor.name == pair_scale) return constant_initializer(c.own.number(pair_scale));
    return initial_clip(tensor.name.starts_with("vis") ? c.towers.back() : c.towers.front(), tensor);
}

// As transformers does. The authors' code has residual deviations for out_proj and fc2, whose products add up in the
// residual stream; transformers has them for q, k, v and fc2.
Initializer initial_clip(const ModelConfig& c, const NamedTensor& tensor) {
    const double factor = c.own.number(initial_factor), width = 1 / std::sqrt(static_cast<double>(c.width)),
                 residual = width / std::sqrt(2 * static_cast<double>(c.layers));
    const auto normal = [&](double deviation) { return normal_initializer(factor * deviation); };
    if (tensor.ends_with({"_projection.weight"})) return normal_initializer(c.own.number(projection_factor) * width);
    if (tensor.ends_with({".class_embedding", ".out_proj.weight"})) return normal(width);
    if (tensor.ends_with({".q_proj.weight", ".k_proj.weight", ".v_proj.weight", ".fc2.weight"}))
        return normal(residual);
    if (tensor.ends_with({".fc1.weight"})) return normal(width / std::numbers::sqrt2);
    if (tensor.shape.rank() == 1) return default_initializer(c, tensor);
    return normal(c.is_vision() ? c.initializer_range : 0.02);  // tables and patches
}

}  // namespace

// A config is that of one of its towers, or of both in training (parse_trained_config).
const Architecture clip("clip", "CLIPModel", {}, read_clip, build_pair,
                        {.ignored = {"embeddings.position_ids"},
                         .pooled_row = end_of_text,
                         .initial = {.rule = initial_pair}});

const Architecture clip_text_model("clip_text_model", "CLIPText", {"text_model."},
                                   [](const JsonFields& fields, ModelConfig& c) {
                                       read_text_tower(fields, c);
                                       read_own_projection(fields, c, "CLIPTextModel");
                                   },
                                   build_text_tower,
                                   {.bare = {"text_projection."},
                                    .ignored = {"embeddings.position_ids"},
                                    .elsewhere = {"vision_model.", "visual_projection.", "logit_scale"},
                                    .pooled_row = end_of_text,
                                    .initial = {.rule = initial_clip}});

const Architecture clip_vision_model("clip_vision_model", "CLIPVision", {"vision_model."},
                                     [](const JsonFields& fields, ModelConfig& c) {
                                         read_image_tower(fields, c);
                                         read_own_projection(fields, c, "CLIPVisionModel");
                                     },
                                     build_image_tower,
                                     {.bare = {"visual_projection."},
                                      .ignored = {"embeddings.position_ids"},
                                      .elsewhere = {"text_model.", "text_projection.", "logit_scale"},
                                      .initial = {.rule = initial_clip}});

}  // namespace vantage::internal
