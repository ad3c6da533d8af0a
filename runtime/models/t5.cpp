// T5: an encoder–decoder, pre-norm with RMSNorm, relative position biases instead of positions, unscaled scores.
//   encoder block  x += o(attention(rms(x))),  x += mlp(rms(x));
//   decoder block: between them also  x += o(attention(rms(x), encoder))
//   mlp(y) = wo(act(wi y)), or gated: wo(act(wi_0 y) ∘ wi_1 y)
//   logits = rms(x) headᵀ; when the head is the shared table, x / √width by default
// Raffel et al., "Exploring the Limits of Transfer Learning" (2020); Shazeer, "GLU Variants" (2020; T5 v1.1).
#include <cmath>

#include "runtime/models/architecture.h"
#include "runtime/models/config_fields.h"

namespace vantage::internal {

namespace {

// Positions are unbounded. The default context is n_positions.
constexpr std::int64_t longest_t5_text = 1 << 15;

void read_t5_mlp(const JsonFields& fields, ModelConfig& c) {
    std::string form = fields.optional_text("feed_forward_proj").value_or("relu");
    const bool gated = form.starts_with("gated-");
    if (gated) form = form.substr(6);
    if (gated && form == "gelu") form = "gelu_new";
    c.activation = activation_of(fields, "feed_forward_proj", form);
    c.own.set("gated", gated);
}

void read_t5(const JsonFields& fields, ModelConfig& c) {
    c.kind = ModelKind::encoder_decoder;
    c.width = fields.integer("d_model", 1, max_width);
    c.heads = c.kv_heads = fields.integer("num_heads", 1, max_heads);
    c.head_width = fields.integer("d_kv", 1, max_width);
    c.inner = fields.integer("d_ff", 1, max_width);
    c.encoder = {.layers = fields.integer("num_layers", 1, max_layers), .heads = c.heads, .inner = c.inner};
    c.layers = fields.optional_integer("num_decoder_layers", 1, max_layers).value_or(c.encoder.layers);
    c.vocab = fields.integer("vocab_size", 1, max_vocab);
    c.default_context = fields.optional_integer("n_positions", 1, longest_t5_text).value_or(512);
    c.context = longest_t5_text;
    c.norm_eps = fields.optional_number("layer_norm_epsilon", 0, 1).value_or(1e-6);
    c.attention_scale = 1;
    // transformers 5 always sets tied. Here the flag says whether the output is the scaled shared table; otherwise it
    // is a table of its own, or the unscaled shared one.
    c.tied = fields.optional_flag("scale_decoder_outputs").value_or(read_tied(fields, true));
    const std::int64_t buckets = fields.optional_integer("relative_attention_num_buckets", 4, 1 << 16).value_or(32),
                       max_distance =
                           fields.optional_integer("relative_attention_max_distance", 1, 1 << 20).value_or(128);
    if (buckets % 2 != 0) fields.fail("relative_attention_num_buckets", "an even number");
    if (max_distance <= buckets / 2) fields.fail("relative_attention_max_distance", "more than half of the buckets");
    c.own.set("buckets", buckets);
    c.own.set("max_distance", max_distance);
    c.own.set("initializer_factor", fields.optional_number("initializer_factor", 0, 1e3).value_or(1));
    read_t5_mlp(fields, c);
    read_start(fields, c, 0);
}

// bias[distance + w, h] for the distances -w … w: rows of the table [buckets, heads], shared by all layers of a stack.
// It is a state, because the attention tap reads it after the run.
Tensor distance_bias(ModelBuilder& d, bool encoder) {
    const std::int64_t buckets = d.config.own.integer("buckets"), w = d.config.own.integer("max_distance");
    const auto past = t5_relative_buckets(w + 1, 1, encoder, buckets, w),  // 0, -1 … -w
        future = t5_relative_buckets(1, w + 1, encoder, buckets, w);       // 0, 1 … w
    std::vector<std::int32_t> ids(past.rbegin(), past.rend());
    ids.insert(ids.end(), future.begin() + 1, future.end());
    const Tensor table =
        d.graph.weight("block.0.layer.0.SelfAttention.relative_attention_bias.weight", {buckets, d.config.heads});
    const Tensor rows = embedding(d.integers(encoder ? "source.distances" : "distances", ids), table);
    if (d.trains()) return rows;
    return write(d.graph.state(encoder ? "source.distance_bias" : "distance_bias", rows.shape(), DType::f32), rows);
}

Tensor t5_heads(ModelBuilder& d, const std::string& name, Tensor x) {
    return d.heads(d.dense(name, x, d.config.heads * d.config.head_width, false), d.config.heads);
}

Tensor t5_mlp(ModelBuilder& d, Tensor x) {
    const ModelConfig& c = d.config;
    const auto inner = [&](const char* name) { return d.dense(name, x, c.inner, false); };
    const Tensor y = c.own.flag("gated") ? swiglu(inner("wi_0"), inner("wi_1"), {.activation = c.activation})
                                         : activate(inner("wi"), c.activation);
    return d.dense("wo", y, c.width, false);
}

// The blocks of the encoder or of the decoder, in its scope.
Tensor t5_stack(ModelBuilder& d, Tensor table, bool encoder) {
    const ModelConfig& c = d.config;
    const Tensor first = d.embed(table), bias = distance_bias(d, encoder);
    return d.blocks("block", first, [&](std::int64_t layer, Tensor x) {
        const auto sublayer = [&](int index, const char* name, const std::function<Tensor(Tensor)>& f) {
            const Graph::Scope at = d.graph.scope("layer", index);
            const Tensor y = d.rms_norm("layer_norm", x);
            const Graph::Scope inside = d.graph.scope(name);
            x = x + d.drop(f(y));
        };
        sublayer(0, "SelfAttention", [&](Tensor y) {
            const Tensor seen =
                d.attend(layer, t5_heads(d, "q", y), t5_heads(d, "k", y), t5_heads(d, "v", y), {.distance_bias = bias});
            return d.dense("o", seen, c.width, false);
        });
        if (!encoder)
            sublayer(1, "EncDecAttention", [&](Tensor y) {
                return d.dense("o", d.cross_attend(layer, t5_heads(d, "q", y)), c.width, false);
            });
        sublayer(encoder ? 1 : 2, "DenseReluDense", [&](Tensor y) { return t5_mlp(d, y); });
        return x;
    });
}

Tensor shared_words(ModelBuilder& d) { return d.graph.weight("shared.weight", {d.config.vocab, d.config.width}); }

void build_t5_encoder(ModelBuilder& d) {
    const Tensor table = shared_words(d);
    Tensor x;
    {
        const Graph::Scope encoder = d.graph.scope("encoder");
        x = d.rms_norm("final_layer_norm", t5_stack(d, table, true));
    }
    for (int layer = 0; layer < d.config.layers; ++layer) {
        const Graph::Scope block = d.graph.scope("decoder.block", layer);
        const Graph::Scope attention = d.graph.scope("layer.1.EncDecAttention");
        d.write_cross_kv(layer, t5_heads(d, "k", x), t5_heads(d, "v", x));
    }
    d.finish_encoder(x);
}

void build_t5(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    const Tensor table = shared_words(d);
    Tensor x;
    {
        const Graph::Scope decoder = d.graph.scope("decoder");
        x = t5_stack(d, table, false);
    }
    d.finish(
        x, [&](Tensor last) { return d.rms_norm("decoder.final_layer_norm", last); },
        [&](Tensor last) {
            const Tensor head =
                !c.tied && d.has("lm_head.weight") ? d.graph.weight("lm_head.weight", {c.vocab, c.width}) : table;
            return linear_transposed(c.tied ? scale(last, 1 / std::sqrt(static_cast<double>(c.width))) : last, head);
        });
}

// As in Mesh TensorFlow: products have the variance of their inputs, and scores, which are not scaled, that of scaled
// ones. So the deviation of a layer is 1/√inputs, and of queries 1/√(inputs · head width).
Initializer initial_t5(const ModelConfig& c, const NamedTensor& tensor) {
    const double factor = c.own.number("initializer_factor");
    if (tensor.shape.rank() == 1) return constant_initializer(factor);
    if (tensor.ends_with({"shared.weight", "lm_head.weight"})) return normal_initializer(factor);
    std::int64_t inputs = tensor.ends_with({".relative_attention_bias.weight"}) ? c.width : tensor.shape[-1];
    if (tensor.ends_with({".q.weight"})) inputs *= c.head_width;
    return normal_initializer(factor / std::sqrt(static_cast<double>(inputs)));
}

}  // namespace

const Architecture t5("t5", "T5ForConditionalGeneration", {}, read_t5, build_t5,
                      {.build_encoder = build_t5_encoder,
                       // copies of the shared table, and an unused bias
                       .ignored = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight",
                                   "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"},
                       .optional = {"lm_head.weight"},
                       .initial = {.rule = initial_t5}});

}  // namespace vantage::internal
