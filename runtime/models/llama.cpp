// Llama: rotary positions, pre-norm with RMSNorm, grouped heads, SwiGLU.
//   x = embed[token];  per block  x += o(attention(rms(x))),  x += down(silu(gate(y)) ∘ up(y)), y = rms(x);
//   logits = rms(x) headᵀ
// Touvron et al., "LLaMA" (2023); Su et al., "RoFormer" (2021); Ainslie et al., "GQA" (2023); Shazeer, "GLU Variants"
// (2020).
#include "runtime/models/llama.h"

namespace vantage::internal {

void read_llama(const JsonFields& fields, ModelConfig& c, const FieldDefaults& defaults) {
    read_sizes(fields, c, defaults);
    c.norm_eps = fields.optional_number("rms_norm_eps", 0, 1).value_or(defaults.norm_eps);
    c.activation = read_activation(fields, "hidden_act", "silu");
    c.tied = read_tied(fields, defaults.tied);
    c.qkv_bias = c.attention_out_bias = fields.optional_flag("attention_bias").value_or(false);
    c.mlp_bias = fields.optional_flag("mlp_bias").value_or(false);
    read_rope(fields, c, defaults.rope_theta);
}

QKV llama_heads(ModelBuilder& d, Tensor x, bool turned) {
    const ModelConfig& c = d.config;
    Tensor q = d.heads(d.dense("self_attn.q_proj", x, c.heads * c.head_width, c.qkv_bias), c.heads);
    Tensor k = d.heads(d.dense("self_attn.k_proj", x, c.kv_heads * c.head_width, c.qkv_bias), c.kv_heads);
    const Tensor v = d.heads(d.dense("self_attn.v_proj", x, c.kv_heads * c.head_width, c.qkv_bias), c.kv_heads);
    if (c.head_norms) {
        q = d.rms_norm("self_attn.q_norm", q);
        k = d.rms_norm("self_attn.k_norm", k);
    }
    if (c.rotary_width == 0 || !turned) return {q, k, v};
    return {d.rotate(q), d.rotate(k), v};
}

Tensor gated_mlp(ModelBuilder& d, Tensor x, const std::string& name) {
    const ModelConfig& c = d.config;
    const Tensor gate = d.dense(name + ".gate_proj", x, c.inner, c.mlp_bias),
                 up = d.dense(name + ".up_proj", x, c.inner, c.mlp_bias);
    return d.dense(name + ".down_proj", swiglu(gate, up, {.activation = c.activation}), c.width, c.mlp_bias);
}

void build_llama(ModelBuilder& d) { build_llama_with(d, {}); }

void build_llama_with(ModelBuilder& d, const LlamaBlock& with) {
    const ModelConfig& c = d.config;
    const Tensor embed = d.graph.weight("embed_tokens.weight", {c.vocab, c.width});
    const Tensor last = d.blocks("layers", d.embed(embed), [&](std::int64_t layer, Tensor x) {
        const Tensor y = d.rms_norm("input_layernorm", x);
        const QKV heads = with.heads ? with.heads(layer, y) : llama_heads(d, y);
        const Tensor seen =
            d.attend(layer, heads.q, heads.k, heads.v, with.attention ? with.attention() : AttentionOptions{});
        x = x + d.drop(d.dense("self_attn.o_proj", seen, c.width, c.attention_out_bias));
        const Tensor z = d.rms_norm("post_attention_layernorm", x);
        return x + d.drop(with.mlp ? with.mlp(layer, z) : gated_mlp(d, z));
    });
    d.finish(
        last, [&](Tensor x) { return d.rms_norm("norm", x); }, [&](Tensor x) { return d.output(x, embed); });
}

const Architecture llama("llama", "Llama", {"model."},
                         [](const JsonFields& fields, ModelConfig& c) { read_llama(fields, c, {}); }, build_llama,
                         {.ignored = {".rotary_emb.inv_freq"}, .initial = {.padded = {"embed_tokens.weight"}}});

}  // namespace vantage::internal
