// OPT: learned positions that start at 2, ReLU, pre-norm; 350M: post-norm, with embeddings narrower than the model.
//   pre-norm:  x += attention(ln_a(x)),  x += mlp(ln_m(x));
//   post-norm:  x = ln_a(x + attention(x)),  x = ln_m(x + mlp(x))
// Zhang et al., "OPT: Open Pre-trained Transformer Language Models" (2022).
#include "runtime/models/architecture.h"
#include "runtime/models/config_fields.h"

namespace vantage::internal {

namespace {

constexpr std::int64_t first_position = 2;  // rows 0 and 1 of the table are reserved for padding

void read_opt(const JsonFields& fields, ModelConfig& c) {
    read_block_sizes(fields, c, {"num_hidden_layers"}, {"hidden_size"}, {"num_attention_heads"});
    c.inner = fields.optional_integer("ffn_dim", 1, max_width).value_or(3072);
    c.vocab = fields.integer("vocab_size", 1, max_vocab);
    c.context = fields.optional_integer("max_position_embeddings", 1, max_context).value_or(2048);
    c.activation = read_activation(fields, "activation_function", "relu");
    c.tied = read_tied(fields, true);
    c.qkv_bias = c.attention_out_bias = c.mlp_bias = fields.optional_flag("enable_bias").value_or(true);
    const bool first = fields.optional_flag("do_layer_norm_before").value_or(true);
    c.own.set("do_layer_norm_before", first);
    c.own.set("final_norm", first && !fields.optional_flag("_remove_final_layer_norm").value_or(false));
    c.own.set("word_embed_proj_dim", fields.optional_integer("word_embed_proj_dim", 1, max_width).value_or(c.width));
    c.own.set("norm_weights", fields.optional_flag("layer_norm_elementwise_affine").value_or(true));
}

void build_opt(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    const bool norm_first = c.own.flag("do_layer_norm_before");
    const std::int64_t embed_width = c.own.integer("word_embed_proj_dim");
    const auto norm = [&](const char* name, Tensor x, bool here) {
        if (!here) return x;
        return c.own.flag("norm_weights") ? d.layer_norm(name, x) : layer_norm(x, {}, {}, c.norm_eps);
    };
    const Tensor embed = d.graph.weight("embed_tokens.weight", {c.vocab, embed_width}),
                 positions = d.graph.weight("embed_positions.weight", {c.context + first_position, c.width});
    const bool narrow = embed_width != c.width;
    const Tensor first =
        narrow ? d.dense("project_in", d.embed(embed), c.width, false) + d.positions(positions, first_position)
               : d.embed(embed, positions, first_position);  // [n, width]
    const Tensor last = d.blocks("layers", first, [&](std::int64_t layer, Tensor x) {
        const Tensor y = norm("self_attn_layer_norm", x, norm_first);
        const auto heads = [&](const char* name) { return d.heads(d.dense(name, y, c.width, c.qkv_bias), c.heads); };
        const Tensor seen =
            d.attend(layer, heads("self_attn.q_proj"), heads("self_attn.k_proj"), heads("self_attn.v_proj"));
        x = norm("self_attn_layer_norm", x + d.drop(d.dense("self_attn.out_proj", seen, c.width, c.attention_out_bias)),
                 !norm_first);
        const Tensor z = norm("final_layer_norm", x, norm_first);
        const Tensor inner = activate(d.dense("fc1", z, c.inner, c.mlp_bias), c.activation);
        return norm("final_layer_norm", x + d.drop(d.dense("fc2", inner, c.width, c.mlp_bias)), !norm_first);
    });
    d.finish(
        last, [&](Tensor x) { return norm("final_layer_norm", x, c.own.flag("final_norm")); },
        [&](Tensor x) { return d.output(narrow ? d.dense("project_out", x, embed_width, false) : x, embed); });
}

}  // namespace

const Architecture opt("opt", "OPT", {"model.decoder.", "decoder."}, read_opt, build_opt,
                       {.initial = {.padding = 1, .padded = {"embed_tokens.weight"}}});

}  // namespace vantage::internal
