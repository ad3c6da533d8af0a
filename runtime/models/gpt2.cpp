// GPT-2: learned positions, pre-norm, one packed projection to queries, keys and values, GELU.
//   x = wte[token] + wpe[position];  per block  x += attention(ln_1(x)),  x += mlp(ln_2(x));  logits = ln_f(x) wteᵀ
// Radford, Wu, Child, Luan, Amodei, Sutskever, "Language Models are Unsupervised Multitask Learners" (2019).
#include "runtime/base/errors.h"
#include "runtime/models/architecture.h"
#include "runtime/models/config_fields.h"

namespace vantage::internal {

namespace {

void read_gpt2(const JsonFields& fields, ModelConfig& c) {
    read_block_sizes(fields, c, {"n_layer"}, {"n_embd"}, {"n_head"});
    c.vocab = fields.integer("vocab_size", 1, max_vocab);
    c.context = one_integer(fields, {"n_positions", "n_ctx"}, max_context);
    c.inner = fields.optional_integer("n_inner", 1, max_width).value_or(4 * c.width);
    c.norm_eps = fields.optional_number("layer_norm_epsilon", 0, 1).value_or(1e-5);
    c.activation = read_activation(fields, "activation_function", "gelu_new");
    c.tied = read_tied(fields, true);
    c.attention_scale = fields.optional_flag("scale_attn_weights").value_or(true) ? 0 : 1;
    c.scale_by_layer = fields.optional_flag("scale_attn_by_inverse_layer_idx").value_or(false);
    if (fields.optional_flag("add_cross_attention").value_or(false))
        throw bad_file_error(fields.name() +
                             ": \"add_cross_attention\" is true, but GPT-2 is only supported without cross-attention");
}

void build_gpt2(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    const Tensor wte = d.graph.weight("wte.weight", {c.vocab, c.width}),
                 wpe = d.graph.weight("wpe.weight", {c.context, c.width});
    const Tensor last = d.blocks("h", d.embed(wte, wpe), [&](std::int64_t layer, Tensor x) {
        const QKV heads = split_qkv(d.conv1d("attn.c_attn", d.layer_norm("ln_1", x), 3 * c.width), c.heads,
                                    c.heads);  // [n, H, D] each
        x = x + d.conv1d("attn.c_proj", d.attend(layer, heads.q, heads.k, heads.v), c.width);
        const Tensor inner = activate(d.conv1d("mlp.c_fc", d.layer_norm("ln_2", x), c.inner), c.activation);
        return x + d.conv1d("mlp.c_proj", inner, c.width);
    });
    d.finish(last, "ln_f", wte);
}

}  // namespace

const Architecture gpt2("gpt2", "GPT2", {"transformer."}, read_gpt2, build_gpt2,
                        {.ignored = {".attn.bias", ".attn.masked_bias"}});

}  // namespace vantage::internal
