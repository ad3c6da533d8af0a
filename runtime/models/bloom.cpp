// BLOOM: ALiBi instead of positions, a norm after the embedding, projections packed by head.
//   x = ln(embed[token]);  per block  x += attention(y), y = ln_a(x);  x += mlp(z), z = ln_m(x)
// (or residuals taken from y and z). BigScience Workshop, "BLOOM" (2022); Press, Smith & Lewis, "ALiBi" (2021).
#include "runtime/models/architecture.h"
#include "runtime/models/config_fields.h"

namespace vantage::internal {

namespace {

void read_bloom(const JsonFields& fields, ModelConfig& c) {
    read_block_sizes(fields, c, {"num_hidden_layers", "n_layer"}, {"n_embed", "hidden_size"},
                     {"num_attention_heads", "n_head"});
    c.inner = 4 * c.width;
    c.vocab = fields.integer("vocab_size", 1, max_vocab);
    c.context = fields.optional_integer("seq_length", 1, max_context).value_or(2048);  // the context in training
    c.norm_eps = fields.optional_number("layer_norm_epsilon", 0, 1).value_or(1e-5);
    c.tied = read_tied(fields, true);
    c.own.set("residual_after_norm", fields.optional_flag("apply_residual_connection_post_layernorm").value_or(false));
}

void build_bloom(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    const bool after_norm = c.own.flag("residual_after_norm");
    const Tensor embed = d.graph.weight("word_embeddings.weight", {c.vocab, c.width});
    const Tensor first = d.layer_norm("word_embeddings_layernorm", d.embed(embed));  // [n, width]
    const Tensor last = d.blocks("h", first, [&](std::int64_t layer, Tensor x) {
        const Tensor y = d.layer_norm("input_layernorm", x);
        const QKV heads =
            split_qkv(d.dense("self_attention.query_key_value", y, 3 * c.width, true), c.heads, c.heads, true);
        const Tensor slopes =
            d.graph.constant("alibi_slopes", {c.heads}, [heads = c.heads] { return alibi_slopes(heads); });
        const Tensor seen = d.attend(layer, heads.q, heads.k, heads.v, {.alibi_slopes = slopes});
        x = (after_norm ? y : x) + d.drop(d.dense("self_attention.dense", seen, c.width, true));
        const Tensor z = d.layer_norm("post_attention_layernorm", x);
        const Tensor inner = gelu_tanh(d.dense("mlp.dense_h_to_4h", z, c.inner, true));
        return (after_norm ? z : x) + d.drop(d.dense("mlp.dense_4h_to_h", inner, c.width, true));
    });
    d.finish(last, "ln_f", embed);
}

}  // namespace

const Architecture bloom("bloom", "Bloom", {"transformer."}, read_bloom, build_bloom);

}  // namespace vantage::internal
