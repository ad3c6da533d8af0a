// GPT-2: learned positions, norm first, one packed projection to queries, keys and values, GELU.
//   x = wte[token] + wpe[position];  per block  x += attention(ln_1(x)),  x += mlp(ln_2(x));  logits = ln_f(x) wteᵀ
// Radford, Wu, Child, Luan, Amodei, Sutskever, "Language Models are Unsupervised Multitask Learners" (2019).
#include "runtime/models/decoder.h"

namespace vantage {

Graph build_gpt2(const ModelConfig& c, const DecoderOptions& options, Graph::WeightTypes types) {
    Graph g(std::move(types));
    Decoder d(g, c, options);
    const auto norm = [&](const std::string& name, Tensor x) {
        return layer_norm(x, g.weight(name + ".weight", {c.width}), g.weight(name + ".bias", {c.width}), c.norm_eps);
    };
    const Tensor wte = g.weight("wte.weight", {c.vocab, c.width}), wpe = g.weight("wpe.weight", {c.context, c.width});

    Tensor x = embedding(d.tokens, wte, wpe, {.rows = options.rows, .step = d.step});  // [n, width]
    d.note_hidden(x);
    for (int layer = 0; layer < c.layers; ++layer) {
        const Graph::Scope block = g.scope("h", layer);
        const QKV heads =
            split_qkv(d.conv1d("attn.c_attn", norm("ln_1", x), 3 * c.width), c.heads, c.heads);  // [n, H, D] each
        x = x + d.conv1d("attn.c_proj", d.attend(layer, heads.q, heads.k, heads.v), c.width);
        x = x + d.conv1d("mlp.c_proj", activate(d.conv1d("mlp.c_fc", norm("ln_2", x), c.inner), c.activation), c.width);
        d.note_hidden(x);
    }
    d.finish(
        x, [&](Tensor last) { return norm("ln_f", last); },
        [&](Tensor last) {
            return linear_transposed(last, c.tied ? wte : g.weight("lm_head.weight", {c.vocab, c.width}));
        });
    return g;
}

}  // namespace vantage
