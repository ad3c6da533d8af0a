// GPT-2: learned positions, pre-norm, one packed projection to queries, keys and values, GELU.
//   x = wte[token] + wpe[position];  per block  x += attention(ln_1(x)),  x += mlp(ln_2(x));  logits = ln_f(x) wteᵀ
//   as the decoder of an encoder–decoder, between them  x += attention(ln_cross_attn(x), encoder)
// Radford, Wu, Child, Luan, Amodei, Sutskever, "Language Models are Unsupervised Multitask Learners" (2019).
#include "runtime/models/gpt2.h"

#include <cmath>

#include "runtime/base/errors.h"

namespace vantage::internal {

void read_gpt2_fields(const JsonFields& fields, ModelConfig& c) {
    read_block_sizes(fields, c, {"n_layer"}, {"n_embd"}, {"n_head"});
    c.vocab = fields.integer("vocab_size", 1, max_vocab);
    c.context = one_integer(fields, {"n_positions", "n_ctx"}, max_context);
    c.inner = fields.optional_integer("n_inner", 1, max_width).value_or(4 * c.width);
    c.norm_eps = fields.optional_number("layer_norm_epsilon", 0, 1).value_or(1e-5);
    c.activation = read_activation(fields, "activation_function", "gelu_new");
    c.tied = read_tied(fields, true);
    c.attention_scale = fields.optional_flag("scale_attn_weights").value_or(true) ? 0 : 1;
    c.scale_by_layer = fields.optional_flag("scale_attn_by_inverse_layer_idx").value_or(false);
    // Vantage's own: transformers has no field for it, and a GGUF file no other order.
    c.own.set("rows_are_outputs", fields.optional_flag("rows_are_outputs").value_or(false));
}

Tensor gpt2_words(ModelBuilder& d) { return d.graph.weight("wte.weight", {d.config.vocab, d.config.width}); }

namespace {

// A folder has these matrices as [in, out]; a GGUF file as [out, in], like all others.
Tensor gpt2_matrix(ModelBuilder& d, const char* name, Tensor x, std::int64_t out) {
    return d.config.own.flag("rows_are_outputs") ? d.dense(name, x, out, true) : d.conv1d(name, x, out);
}

}  // namespace

Tensor gpt2_blocks(ModelBuilder& d, Tensor wte) {
    const ModelConfig& c = d.config;
    const Tensor wpe = d.graph.weight("wpe.weight", {c.context, c.width});
    return d.blocks("h", d.embed(wte, wpe), [&](std::int64_t layer, Tensor x) {
        const QKV heads = split_qkv(gpt2_matrix(d, "attn.c_attn", d.layer_norm("ln_1", x), 3 * c.width), c.heads,
                                    c.heads);  // [n, H, D] each
        x = x + d.drop(gpt2_matrix(d, "attn.c_proj", d.attend(layer, heads.q, heads.k, heads.v), c.width));
        if (c.kind == ModelKind::encoder_decoder) {
            const Tensor q = d.conv1d("crossattention.q_attn", d.layer_norm("ln_cross_attn", x), c.width);
            x = x + d.drop(d.conv1d("crossattention.c_proj", d.cross_attend(layer, d.heads(q, c.heads)), c.width));
        }
        const Tensor inner = activate(gpt2_matrix(d, "mlp.c_fc", d.layer_norm("ln_2", x), c.inner), c.activation);
        return x + d.drop(gpt2_matrix(d, "mlp.c_proj", inner, c.width));
    });
}

void write_gpt2_cross_kv(ModelBuilder& d, Tensor source) {
    const ModelConfig& c = d.config;
    for (int layer = 0; layer < c.layers; ++layer) {
        const Graph::Scope block = d.graph.scope("h", layer);
        const QKV heads = split_qkv(d.conv1d("crossattention.c_attn", source, 2 * c.width), 0, c.heads);
        d.write_cross_kv(layer, heads.k, heads.v);
    }
}

// "A modified initialization which accounts for the accumulation on the residual path with model depth" (section 2.3):
// the weights of the 2 · layers products that are added to it are scaled by 1/√(2 · layers). transformers 5.12 has this
// rule but never applies it, because it compares whole names with "c_proj.weight"; transformers 4 applies it.
Initializer initial_gpt2(const ModelConfig& c, const NamedTensor& tensor) {
    if (!tensor.ends_with({".c_proj.weight"})) return default_initializer(c, tensor);
    return normal_initializer(c.initializer_range / std::sqrt(2 * static_cast<double>(c.layers)));
}

namespace {

void read_gpt2(const JsonFields& fields, ModelConfig& c) {
    read_gpt2_fields(fields, c);
    if (fields.optional_flag("add_cross_attention").value_or(false))
        throw bad_file_error(fields.name() +
                             ": \"add_cross_attention\" is true, but GPT-2 has cross-attention only as the decoder of "
                             "a vision-encoder-decoder");
}

void build_gpt2(ModelBuilder& d) {
    const Tensor wte = gpt2_words(d);
    d.finish(gpt2_blocks(d, wte), "ln_f", wte);
}

}  // namespace

const Architecture gpt2("gpt2", "GPT2", {"transformer."}, read_gpt2, build_gpt2,
                        {.ignored = {".attn.bias", ".attn.masked_bias"}, .initial = {.rule = initial_gpt2}});

}  // namespace vantage::internal
