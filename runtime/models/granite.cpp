// Granite: Llama whose embeddings, scores, residuals and logits are scaled by constants.
//   x = e embed[token];  per block  x += r o(attention(rms(x))),  x += r mlp(rms(x));  logits = rms(x) headᵀ / l
// IBM Granite Team, "Granite 3.0 Language Models" (2024); Yang et al., "Tensor Programs V" (2022).
#include "runtime/models/llama.h"

namespace vantage::internal {

namespace {

void read_granite(const JsonFields& fields, ModelConfig& c) {
    read_llama(fields, c, {.context = 2048});
    const auto factor = [&](const char* key) { return fields.optional_number(key, 1e-6, 1e6).value_or(1); };
    c.attention_scale = factor("attention_multiplier");
    for (const char* key : {"embedding_multiplier", "residual_multiplier", "logits_scaling"})
        c.own.set(key, factor(key));
}

void build_granite(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    const double residual = c.own.number("residual_multiplier");
    const Tensor embed = d.graph.weight("embed_tokens.weight", {c.vocab, c.width});
    const Tensor first = d.embed(embed, {}, 0, c.own.number("embedding_multiplier"));
    const Tensor last = d.blocks("layers", first, [&](std::int64_t layer, Tensor x) {
        const QKV heads = llama_heads(d, d.rms_norm("input_layernorm", x));
        const Tensor seen = d.attend(layer, heads.q, heads.k, heads.v);
        x = x + residual * d.drop(d.dense("self_attn.o_proj", seen, c.width, c.attention_out_bias));
        return x + residual * d.drop(gated_mlp(d, d.rms_norm("post_attention_layernorm", x)));
    });
    d.finish(
        last, [&](Tensor x) { return d.rms_norm("norm", x); },
        [&](Tensor x) { return d.output(scale(x, 1 / c.own.number("logits_scaling")), embed); });
}

}  // namespace

const Architecture granite("granite", "Granite", {"model."}, read_granite, build_granite,
                           {.ignored = {".rotary_emb.inv_freq"}, .initial = {.padded = {"embed_tokens.weight"}}});

}  // namespace vantage::internal
