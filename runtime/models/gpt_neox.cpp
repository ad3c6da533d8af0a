// GPT-NeoX (Pythia): rotary positions on a part of each head, projections packed by head, attention and MLP in parallel
// with a norm each, or sequential.
//   x += attention(ln_a(x)) + mlp(ln_m(x))
// Black et al., "GPT-NeoX-20B" (2022); Biderman et al., "Pythia" (2023).
#include "runtime/models/architecture.h"
#include "runtime/models/config_fields.h"

namespace vantage::internal {

namespace {

void read_gpt_neox(const JsonFields& fields, ModelConfig& c) {
    read_sizes(fields, c);
    c.kv_heads = c.heads;  // the architecture has no grouped heads or head widths of their own
    divide_heads(fields, c, "hidden_size", "num_attention_heads");
    c.norm_eps = fields.optional_number("layer_norm_eps", 0, 1).value_or(1e-5);
    c.activation = read_activation(fields, "hidden_act", "gelu");
    c.tied = read_tied(fields, false);
    c.parallel = fields.optional_flag("use_parallel_residual").value_or(true);
    c.qkv_bias = c.attention_out_bias = fields.optional_flag("attention_bias").value_or(true);
    read_rope(fields, c, 10000, 0.25);
}

void build_gpt_neox(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    const Tensor embed = d.graph.weight("embed_in.weight", {c.vocab, c.width});
    const Tensor last = d.blocks("layers", d.embed(embed), [&](std::int64_t layer, Tensor x) {
        const Tensor packed =
            d.dense("attention.query_key_value", d.layer_norm("input_layernorm", x), 3 * c.width, c.qkv_bias);
        const QKV heads = split_qkv(packed, c.heads, c.heads, true);
        const Tensor seen = d.attend(layer, d.rotate(heads.q), d.rotate(heads.k), heads.v);
        const Tensor after = x + d.drop(d.dense("attention.dense", seen, c.width, c.attention_out_bias));
        const Tensor y = d.layer_norm("post_attention_layernorm", c.parallel ? x : after);
        const Tensor inner = activate(d.dense("mlp.dense_h_to_4h", y, c.inner, true), c.activation);
        return after + d.drop(d.dense("mlp.dense_4h_to_h", inner, c.width, true));
    });
    d.finish(last, "final_layer_norm", embed, "embed_out");
}

}  // namespace

const Architecture gpt_neox("gpt_neox", "GPTNeoX", {"gpt_neox."}, read_gpt_neox, build_gpt_neox,
                            {.bare = {"embed_out."},
                             .ignored = {".attention.bias", ".attention.masked_bias", ".rotary_emb.inv_freq"}});

}  // namespace vantage::internal
