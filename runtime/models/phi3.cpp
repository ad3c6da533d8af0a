// Phi-3: Llama with queries, keys and values in one projection, gate and up in another, and LongRoPE.
// Abdin et al., "Phi-3 Technical Report" (2024); Ding et al., "LongRoPE" (2024).
#include "runtime/models/llama.h"

namespace vantage {

namespace {

void read(const JsonFields& fields, ModelConfig& c) {
    read_llama(fields, c, {.norm_eps = 1e-5});
    read_windows(fields, c, read_window(fields, 0), [](std::int64_t) { return true; });
}

void build(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    const Tensor embed = d.graph.weight("embed_tokens.weight", {c.vocab, c.width});
    Tensor x = d.embed(embed);  // [n, width]
    d.note_hidden(x);
    for (int layer = 0; layer < c.layers; ++layer) {
        const Graph::Scope block = d.graph.scope("layers", layer);
        const Tensor qkv = d.dense("self_attn.qkv_proj", d.rms_norm("input_layernorm", x),
                                   (c.heads + 2 * c.kv_heads) * c.head_width, false);
        const QKV heads = split_qkv(qkv, c.heads, c.kv_heads);
        const Tensor seen = d.attend(layer, d.rotate(heads.q), d.rotate(heads.k), heads.v);
        x = x + d.dense("self_attn.o_proj", seen, c.width, false);
        const Tensor gate_up =
            d.dense("mlp.gate_up_proj", d.rms_norm("post_attention_layernorm", x), 2 * c.inner, false);
        x = x + d.dense("mlp.down_proj", swiglu(gate_up, {}, c.activation), c.width, false);
        d.note_hidden(x);
    }
    d.finish(
        x, [&](Tensor last) { return d.rms_norm("norm", last); }, [&](Tensor last) { return d.output(last, embed); });
}

}  // namespace

extern const Architecture phi3;
const Architecture phi3 = {.name = "phi3",
                           .class_begin = "Phi3",
                           .prefixes = {"model."},
                           .read = read,
                           .build = build,
                           .ignored = {".rotary_emb.inv_freq"}};

}  // namespace vantage
