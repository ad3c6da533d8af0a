// The original encoder–decoder Transformer, with a config.json defined by Vantage (docs/models.md).
//   x = √width embed[token] + sinusoid(i);  blocks as in BART: ln(x + f(x)), or x + f(ln(x)) with "norm_first"
//   logits = x embedᵀ
// Vaswani et al., "Attention Is All You Need" (2017); Xiong et al., "On Layer Normalization in the Transformer" (2020).
#include <cmath>

#include "runtime/models/bart.h"

namespace vantage::internal {

namespace {

void read_transformer(const JsonFields& fields, ModelConfig& c) {
    c.kind = ModelKind::encoder_decoder;
    c.width = fields.integer("d_model", 1, max_width);
    c.heads = fields.integer("num_heads", 1, max_heads);
    c.inner = fields.integer("d_ff", 1, max_width);
    c.encoder = {.layers = fields.integer("num_encoder_layers", 1, max_layers), .heads = c.heads, .inner = c.inner};
    c.layers = fields.integer("num_decoder_layers", 1, max_layers);
    divide_heads(fields, c, "d_model", "num_heads");
    if (c.width % 2 != 0) fields.fail("d_model", "an even number: sines and cosines alternate");
    c.kv_heads = c.heads;
    c.vocab = fields.integer("vocab_size", 1, max_vocab);
    c.context = fields.optional_integer("max_position_embeddings", 1, max_context).value_or(1024);
    c.activation = read_activation(fields, "activation_function", "relu");
    c.norm_eps = fields.optional_number("layer_norm_eps", 0, 1).value_or(1e-5);
    c.tied = read_tied(fields, true);
    c.own.set("norm_first", fields.optional_flag("norm_first").value_or(false));
    read_start(fields, c, 0);
}

Tensor embed_transformer(ModelBuilder& d, Tensor table) {
    const std::int64_t width = d.config.width;
    return d.embed(table, sinusoidal_positions(d.graph, d.options.context, width), 0,
                   std::sqrt(static_cast<double>(width)));
}

BartForm form_of(const ModelBuilder& d) {
    return {.embed = embed_transformer, .norm_first = d.config.own.flag("norm_first")};
}

// As in the authors' tensor2tensor: embeddings and the output layer have a variance of 1/width, matrices are uniform
// (Glorot & Bengio 2010), biases are 0. As in torch and fairseq, queries, keys and values count as one matrix.
Initializer initial_transformer(const ModelConfig& c, const NamedTensor& tensor) {
    const auto root = [](std::int64_t x) { return std::sqrt(static_cast<double>(x)); };
    if (tensor.shape.rank() == 1 || tensor.ends_with({"bias"})) return default_initializer(c, tensor);
    if (tensor.ends_with({"shared.weight", "lm_head.weight"})) return normal_initializer(1 / root(c.width));
    const bool joined = tensor.ends_with({".q_proj.weight", ".k_proj.weight", ".v_proj.weight"});
    return uniform_initializer(std::sqrt(6.0) / root(tensor.shape[0] * (joined ? 3 : 1) + tensor.shape[1]));
}

}  // namespace

const Architecture transformer("transformer", "Transformer", {}, read_transformer,
                               [](ModelBuilder& d) { build_bart_decoder(d, form_of(d)); },
                               {.build_encoder = [](ModelBuilder& d) { build_bart_encoder(d, form_of(d)); },
                                .optional = {"final_logits_bias"},
                                .initial = {.rule = initial_transformer}});

}  // namespace vantage::internal
