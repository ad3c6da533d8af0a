// OLMo 2: Llama with norms behind the sublayers in place of those before them, and norms over all queries and all keys.
//   x += rms(attention(x)),  x += rms(mlp(x));  q = rms(W_q x),  k = rms(W_k x), before they are divided into heads
// OLMo Team, "2 OLMo 2 Furious" (2024).
#include "runtime/models/llama.h"

namespace vantage::internal {

namespace {

void read_olmo2(const JsonFields& fields, ModelConfig& c) { read_llama(fields, c, {.norm_eps = 1e-5}); }

void build_olmo2(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    const Tensor embed = d.graph.weight("embed_tokens.weight", {c.vocab, c.width});
    const Tensor last = d.blocks("layers", d.embed(embed), [&](std::int64_t layer, Tensor x) {
        const auto projected = [&](const char* name, std::int64_t heads) {
            return d.dense(name, x, heads * c.head_width, c.qkv_bias);
        };
        const Tensor q = d.rms_norm("self_attn.q_norm", projected("self_attn.q_proj", c.heads)),
                     k = d.rms_norm("self_attn.k_norm", projected("self_attn.k_proj", c.kv_heads)),
                     v = projected("self_attn.v_proj", c.kv_heads);
        const Tensor seen =
            d.attend(layer, d.rotate(d.heads(q, c.heads)), d.rotate(d.heads(k, c.kv_heads)), d.heads(v, c.kv_heads));
        const Tensor attended = d.dense("self_attn.o_proj", seen, c.width, c.attention_out_bias);
        x = x + d.drop(d.rms_norm("post_attention_layernorm", attended));
        return x + d.drop(d.rms_norm("post_feedforward_layernorm", gated_mlp(d, x)));
    });
    d.finish(
        last, [&](Tensor x) { return d.rms_norm("norm", x); }, [&](Tensor x) { return d.output(x, embed); });
}

}  // namespace

const Architecture olmo2("olmo2", "Olmo2", {"model."}, read_olmo2, build_olmo2,
                         {.ignored = {".rotary_emb.inv_freq"},
                          .initial = {.padding = 1, .padded = {"embed_tokens.weight"}}});

}  // namespace vantage::internal
