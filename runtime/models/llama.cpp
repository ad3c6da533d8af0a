// Llama: rotary positions, RMSNorm first, grouped heads, SwiGLU.
//   x = embed[token];  per block  x += o(attention(rms(x))),  x += down(silu(gate(y)) ∘ up(y)), y = rms(x);
//   logits = rms(x) headᵀ
// Touvron et al., "LLaMA" (2023); Su et al., "RoFormer" (2021); Ainslie et al., "GQA" (2023); Shazeer, "GLU Variants" (2020).
#include "runtime/models/decoder.h"

namespace vantage {

Graph build_llama(const ModelConfig& c, const DecoderOptions& options, Graph::WeightTypes types) {
    Graph g(std::move(types));
    Decoder d(g, c, options);
    const auto norm = [&](const std::string& name, Tensor x) {
        return rms_norm(x, g.weight(name + ".weight", {c.width}), c.norm_eps);
    };
    const auto heads = [&](Tensor x, std::int64_t count) { return g.reshape(x, {options.rows, count, c.head_width}); };
    const Tensor embed = g.weight("embed_tokens.weight", {c.vocab, c.width});
    const Tensor angles = rope_table(g, options.context, c.head_width, c.rope_theta, c.rope_scaling);

    Tensor x = embedding(d.tokens, embed, {}, {.rows = options.rows, .step = d.step});  // [n, width]
    d.note_hidden(x);
    for (int layer = 0; layer < c.layers; ++layer) {
        const Graph::Scope block = g.scope("layers", layer);
        const Tensor h = norm("input_layernorm", x);
        const Tensor q = heads(d.dense("self_attn.q_proj", h, c.heads * c.head_width, c.attention_bias), c.heads);
        const Tensor k = heads(d.dense("self_attn.k_proj", h, c.kv_heads * c.head_width, c.attention_bias), c.kv_heads);
        const Tensor v = heads(d.dense("self_attn.v_proj", h, c.kv_heads * c.head_width, c.attention_bias), c.kv_heads);
        x = x + d.dense("self_attn.o_proj", d.attend_rotated(layer, q, k, v, angles), c.width, c.attention_bias);
        const Tensor y = norm("post_attention_layernorm", x);
        const Tensor gate = d.dense("mlp.gate_proj", y, c.inner, c.mlp_bias),
                     up = d.dense("mlp.up_proj", y, c.inner, c.mlp_bias);
        x = x + d.dense("mlp.down_proj", swiglu(gate, up), c.width, c.mlp_bias);
        d.note_hidden(x);
    }
    d.finish(
        x, [&](Tensor last) { return norm("norm", last); },
        [&](Tensor last) {
            return linear_transposed(last, c.tied ? embed : g.weight("lm_head.weight", {c.vocab, c.width}));
        });
    return g;
}

}  // namespace vantage
