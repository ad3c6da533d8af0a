// Gemma 2: Llama's block with norms before and after each sublayer, gains of 1 + w, GEGLU, soft-capped scores and
// logits, and a sliding window in every other layer.
//   x = √width embed[token];  per block  x += rms(attention(rms(x))),  x += rms(mlp(rms(x)))
//   logits = cap tanh(rms(x) embedᵀ / cap)
// Gemma Team, "Gemma 2: Improving Open Language Models at a Practical Size" (2024).
#include <cmath>

#include "runtime/models/llama.h"

namespace vantage::internal {

namespace {

constexpr double gain_offset = 1;

void read_gemma2(const JsonFields& fields, ModelConfig& c) {
    read_llama(fields, c, {.kv_heads = 4, .head_width = 256, .tied = true});
    c.activation = read_activation(fields, "hidden_activation", "gelu_pytorch_tanh");
    if (fields.optional_flag("use_bidirectional_attention").value_or(false))
        fields.fail("use_bidirectional_attention", "false: a decoder");
    c.attention_scale = 1 / std::sqrt(fields.optional_number("query_pre_attn_scalar", 1e-6, 1e6).value_or(256));
    const auto cap = [&](const char* key, double default_value) {
        return fields.optional_number(key, 1e-3, 1e6).value_or(fields.json().contains(key) ? 0 : default_value);
    };
    c.attention_softcap = cap("attn_logit_softcapping", 50);
    c.logit_softcap = cap("final_logit_softcapping", 30);
    read_windows(fields, c, read_window(fields, 4096), [](std::int64_t layer) { return layer % 2 == 0; });
}

void build_gemma2(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    const auto norm = [&](const char* name, Tensor x) { return d.rms_norm(name, x, gain_offset); };
    const Tensor embed = d.graph.weight("embed_tokens.weight", {c.vocab, c.width});
    const Tensor first = d.embed(embed, {}, 0, std::sqrt(static_cast<double>(c.width)));  // [n, width]
    const Tensor last = d.blocks("layers", first, [&](std::int64_t layer, Tensor x) {
        const QKV heads = llama_heads(d, norm("input_layernorm", x));
        const Tensor seen = d.attend(layer, heads.q, heads.k, heads.v);
        x = x +
            d.drop(norm("post_attention_layernorm", d.dense("self_attn.o_proj", seen, c.width, c.attention_out_bias)));
        return x + d.drop(norm("post_feedforward_layernorm", gated_mlp(d, norm("pre_feedforward_layernorm", x))));
    });
    d.finish(
        last, [&](Tensor x) { return norm("norm", x); }, [&](Tensor x) { return d.output(x, embed); });
}

// Gains are 1 + w.
Initializer initial_gemma2(const ModelConfig& c, const NamedTensor& tensor) {
    return tensor.ends_with({"norm.weight"}) ? constant_initializer(0) : default_initializer(c, tensor);
}

}  // namespace

const Architecture gemma2("gemma2", "Gemma2", {"model."}, read_gemma2, build_gemma2,
                          {.ignored = {".rotary_emb.inv_freq"},
                           .initial = {.padding = 0, .padded = {"embed_tokens.weight"}, .rule = initial_gemma2}});

}  // namespace vantage::internal
