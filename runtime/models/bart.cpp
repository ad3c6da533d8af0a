// BART: an encoder–decoder with post-norm and learned positions.
//   x = ln(s embed[token] + position[i + 2]);  encoder block  x = ln(x + attention(x)),  x = ln(x + fc2(act(fc1(x))))
//   decoder block  x = ln(x + attention(x)),  x = ln(x + attention(x, encoder)),  x = ln(x + fc2(act(fc1(x))))
//   logits = x embedᵀ + bias
// Lewis et al., "BART: Denoising Sequence-to-Sequence Pre-training" (2019).
#include "runtime/models/bart.h"

#include <cmath>

#include "vantage/gradient.h"

namespace vantage::internal {

namespace {

constexpr std::int64_t first_bart_position = 2;  // the first rows were once reserved for padding

// A sublayer with its residual, post-norm or pre-norm.
Tensor residual(ModelBuilder& d, const BartForm& form, const std::string& norm, Tensor x,
                const std::function<Tensor(Tensor)>& sublayer) {
    if (form.norm_first) return x + d.drop(sublayer(d.layer_norm(norm, x)));
    return d.layer_norm(norm, x + d.drop(sublayer(x)));
}

Tensor projected(ModelBuilder& d, const std::string& name, Tensor x, std::int64_t heads) {
    return d.heads(d.dense(name, x, d.config.width, true), heads);
}

Tensor self_attention(ModelBuilder& d, const BartForm& form, std::int64_t layer, Tensor x, std::int64_t heads) {
    return residual(d, form, "self_attn_layer_norm", x, [&](Tensor y) {
        const Tensor seen =
            d.attend(layer, projected(d, "self_attn.q_proj", y, heads), projected(d, "self_attn.k_proj", y, heads),
                     projected(d, "self_attn.v_proj", y, heads));
        return d.dense("self_attn.out_proj", seen, d.config.width, true);
    });
}

Tensor cross_attention(ModelBuilder& d, const BartForm& form, std::int64_t layer, Tensor x) {
    return residual(d, form, "encoder_attn_layer_norm", x, [&](Tensor y) {
        const Tensor seen = d.cross_attend(layer, projected(d, "encoder_attn.q_proj", y, d.config.heads));
        return d.dense("encoder_attn.out_proj", seen, d.config.width, true);
    });
}

Tensor mlp(ModelBuilder& d, const BartForm& form, Tensor x, std::int64_t inner) {
    return residual(d, form, "final_layer_norm", x, [&](Tensor y) {
        return d.dense("fc2", activate(d.dense("fc1", y, inner, true), d.config.activation), d.config.width, true);
    });
}

// The embedding table of `side`: shared, or its own (transformers 5, untied).
Tensor table_of(ModelBuilder& d, const BartForm& form, const char* side) {
    const std::string own = std::string(side) + ".embed_tokens.weight";
    const bool untied = form.own_tables && !d.config.tied && d.has(own);
    return d.graph.weight(untied ? own : "shared.weight", {d.config.vocab, d.config.width});
}

}  // namespace

void build_bart_encoder(ModelBuilder& d, const BartForm& form) {
    const ModelConfig& c = d.config;
    const Tensor table = table_of(d, form, "encoder");
    Tensor x;
    {
        const Graph::Scope encoder = d.graph.scope("encoder");
        x = d.blocks("layers", form.embed(d, table), [&](std::int64_t layer, Tensor y) {
            return mlp(d, form, self_attention(d, form, layer, y, c.encoder.heads), c.encoder.inner);
        });
        if (form.norm_first) x = d.layer_norm("layer_norm", x);
    }
    for (int layer = 0; layer < c.layers; ++layer) {
        const Graph::Scope block = d.graph.scope("decoder.layers", layer);
        d.write_cross_kv(layer, projected(d, "encoder_attn.k_proj", x, c.heads),
                         projected(d, "encoder_attn.v_proj", x, c.heads));
    }
    d.finish_encoder(x);
}

void build_bart_decoder(ModelBuilder& d, const BartForm& form) {
    const ModelConfig& c = d.config;
    const Tensor table = table_of(d, form, "decoder");
    Tensor x;
    {
        const Graph::Scope decoder = d.graph.scope("decoder");
        x = d.blocks("layers", form.embed(d, table), [&](std::int64_t layer, Tensor y) {
            y = self_attention(d, form, layer, y, c.heads);
            return mlp(d, form, cross_attention(d, form, layer, y), c.inner);
        });
    }
    const auto norm = [&](Tensor last) { return form.norm_first ? d.layer_norm("decoder.layer_norm", last) : last; };
    d.finish(x, norm, [&](Tensor last) {
        const Tensor words = c.tied ? table : d.graph.weight("lm_head.weight", {c.vocab, c.width});
        const std::string bias = "final_logits_bias";  // does not learn, as in transformers
        return linear_transposed(
            last, words,
            d.has(bias) ? stop_gradient(d.graph.reshape(d.graph.weight(bias, {1, c.vocab}), {c.vocab})) : Tensor());
    });
}

namespace {

void read_bart(const JsonFields& fields, ModelConfig& c) {
    c.kind = ModelKind::encoder_decoder;
    c.width = fields.integer("d_model", 1, max_width);
    c.layers = fields.integer("decoder_layers", 1, max_layers);
    c.heads = fields.integer("decoder_attention_heads", 1, max_heads);
    c.inner = fields.integer("decoder_ffn_dim", 1, max_width);
    c.encoder = {.layers = fields.integer("encoder_layers", 1, max_layers),
                 .heads = fields.integer("encoder_attention_heads", 1, max_heads),
                 .inner = fields.integer("encoder_ffn_dim", 1, max_width)};
    require_divides(fields, "d_model", c.width, "encoder_attention_heads", c.encoder.heads);
    if (c.width / c.encoder.heads > 256) fields.fail("encoder_attention_heads", "heads of at most 256 features");
    divide_heads(fields, c, "d_model", "decoder_attention_heads");
    c.kv_heads = c.heads;
    c.vocab = fields.integer("vocab_size", 1, max_vocab);
    c.context = fields.optional_integer("max_position_embeddings", 1, max_context).value_or(1024);
    c.activation = read_activation(fields, "activation_function", "gelu");
    c.tied = read_tied(fields, true);
    c.own.set("scale_embedding", fields.optional_flag("scale_embedding").value_or(false));
    read_start(fields, c, 2);
}

Tensor embed_bart(ModelBuilder& d, Tensor table) {
    const ModelConfig& c = d.config;
    const Tensor positions = d.graph.weight("embed_positions.weight", {c.context + first_bart_position, c.width});
    const double factor = c.own.flag("scale_embedding") ? std::sqrt(static_cast<double>(c.width)) : 1;
    return d.layer_norm("layernorm_embedding", d.embed(table, positions, first_bart_position, factor));
}

const BartForm bart_form{.embed = embed_bart, .own_tables = true};

}  // namespace

const Architecture bart("bart", "BartForConditionalGeneration", {"model."}, read_bart,
                        [](ModelBuilder& d) { build_bart_decoder(d, bart_form); },
                        {.build_encoder = [](ModelBuilder& d) { build_bart_encoder(d, bart_form); },
                         .bare = {"lm_head.", "final_logits_bias"},
                         // a copy of the shared table, unused where both sides have their own
                         .ignored = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "shared.weight"},
                         .optional = {"final_logits_bias", "encoder.embed_tokens.weight",
                                      "decoder.embed_tokens.weight"},
                         .initial = {.padding = 1, .padded = {"shared.weight", "embed_tokens.weight"}}});

}  // namespace vantage::internal
