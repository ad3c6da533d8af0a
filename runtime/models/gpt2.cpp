// GPT-2: learned positions, pre-norm, one packed projection to queries, keys and values, GELU.
//   x = wte[token] + wpe[position];  per block  x += attention(ln_1(x)),  x += mlp(ln_2(x));  logits = ln_f(x) wteᵀ
// Radford, Wu, Child, Luan, Amodei, Sutskever, "Language Models are Unsupervised Multitask Learners" (2019).
#include "runtime/models/architecture.h"
#include "runtime/models/config_fields.h"

namespace vantage::internal {

namespace {

void read_gpt2(const JsonFields& fields, ModelConfig& c) {
    c.layers = fields.integer("n_layer", 1, max_layers);
    c.width = fields.integer("n_embd", 1, max_width);
    c.heads = c.kv_heads = fields.integer("n_head", 1, max_heads);
    c.vocab = fields.integer("vocab_size", 1, max_vocab);
    c.context = one_integer(fields, {"n_positions", "n_ctx"}, max_context);
    c.inner = fields.optional_integer("n_inner", 1, max_width).value_or(4 * c.width);
    c.norm_eps = fields.optional_number("layer_norm_epsilon", 0, 1).value_or(1e-5);
    c.activation = read_activation(fields, "activation_function", "gelu_new");
    c.tied = read_tied(fields, true);
    divide_heads(fields, c, "n_embd", "n_head");
    c.attention_scale = fields.optional_flag("scale_attn_weights").value_or(true) ? 0 : 1;
    c.scale_by_layer = fields.optional_flag("scale_attn_by_inverse_layer_idx").value_or(false);
    if (fields.optional_flag("add_cross_attention").value_or(false))
        throw Error(
            ErrorKind::bad_file,
            fields.name() + ": \"add_cross_attention\" is true, but GPT-2 is only supported without cross-attention");
}

void build_gpt2(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    const Tensor wte = d.graph.weight("wte.weight", {c.vocab, c.width}),
                 wpe = d.graph.weight("wpe.weight", {c.context, c.width});
    Tensor x = d.embed(wte, wpe);  // [n, width]
    d.note_hidden(x);
    for (int layer = 0; layer < c.layers; ++layer) {
        const Graph::Scope block = d.graph.scope("h", layer);
        const QKV heads = split_qkv(d.conv1d("attn.c_attn", d.layer_norm("ln_1", x), 3 * c.width), c.heads,
                                    c.heads);  // [n, H, D] each
        x = x + d.conv1d("attn.c_proj", d.attend(layer, heads.q, heads.k, heads.v), c.width);
        const Tensor inner = activate(d.conv1d("mlp.c_fc", d.layer_norm("ln_2", x), c.inner), c.activation);
        x = x + d.conv1d("mlp.c_proj", inner, c.width);
        d.note_hidden(x);
    }
    d.finish(
        x, [&](Tensor last) { return d.layer_norm("ln_f", last); }, [&](Tensor last) { return d.output(last, wte); });
}

}  // namespace

extern const Architecture gpt2;
const Architecture gpt2 = {.name = "gpt2",
                           .class_begin = "GPT2",
                           .prefixes = {"transformer."},
                           .read = read_gpt2,
                           .build = build_gpt2,
                           .ignored = {".attn.bias", ".attn.masked_bias"}};

}  // namespace vantage::internal
