// DistilBERT: fewer of BERT's blocks, without token types and pooler.
//   masked tokens: ln(gelu(W x + b)) wordᵀ + b;  classification: W' relu(W x_0 + b) + b'
// Sanh, Debut, Chaumond, Wolf, "DistilBERT, a distilled version of BERT" (2019).
#include <algorithm>

#include "runtime/models/architecture.h"
#include "runtime/models/config_fields.h"

namespace vantage::internal {

namespace {

void read_distilbert(const JsonFields& fields, ModelConfig& c) {
    read_block_sizes(fields, c, {"n_layers", "num_hidden_layers"}, {"dim", "hidden_size"},
                     {"n_heads", "num_attention_heads"});
    c.inner = fields.optional_integer("hidden_dim", 1, max_width).value_or(3072);
    c.vocab = fields.integer("vocab_size", 1, max_vocab);
    c.context = fields.optional_integer("max_position_embeddings", 1, max_context).value_or(512);
    c.norm_eps = 1e-12;
    c.activation = read_activation(fields, "activation", "gelu");
    c.tied = read_tied(fields, true);
    c.own.set("sinusoidal", fields.optional_flag("sinusoidal_pos_embds").value_or(false));
    read_head(fields, c);
}

void build_distilbert(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    const Tensor words = d.graph.weight("embeddings.word_embeddings.weight", {c.vocab, c.width}),
                 positions = d.graph.weight("embeddings.position_embeddings.weight", {c.context, c.width});
    const Tensor first = d.layer_norm("embeddings.LayerNorm", d.embed(words, positions));  // [n, width]
    const Tensor last = d.blocks("transformer.layer", first, [&](std::int64_t layer, Tensor x) {
        const auto heads = [&](const char* name) { return d.heads(d.dense(name, x, c.width, true), c.heads); };
        const Tensor seen =
            d.attend(layer, heads("attention.q_lin"), heads("attention.k_lin"), heads("attention.v_lin"));
        x = d.layer_norm("sa_layer_norm", x + d.drop(d.dense("attention.out_lin", seen, c.width, true)));
        const Tensor inner = activate(d.dense("ffn.lin1", x, c.inner, true), c.activation);
        return d.layer_norm("output_layer_norm", x + d.drop(d.dense("ffn.lin2", inner, c.width, true)));
    });
    d.finish_encoder(last);
    if (c.head == Head::classification) {
        const Tensor inner = relu(d.dense("pre_classifier", d.first_row(last), c.width, true));
        d.graph.output(model_names::logits, d.dense("classifier", inner, std::ssize(c.labels), true));
    }
    d.judge_tokens(last);
    if (c.head != Head::masked_lm) return;
    const Tensor inner = activate(d.dense("vocab_transform", last, c.width, true), c.activation);
    const Tensor out = c.tied ? words : d.graph.weight("vocab_projector.weight", {c.vocab, c.width});
    d.give_logits(d.layer_norm("vocab_layer_norm", inner), [&](Tensor rows) {
        return linear_transposed(rows, out, d.graph.weight("vocab_projector.bias", {c.vocab}));
    });
}

// With sinusoidal_pos_embds the table of positions begins as Vaswani et al. (2017) have it.
Initializer initial_distilbert(const ModelConfig& c, const NamedTensor& tensor) {
    if (!c.own.flag("sinusoidal") || !tensor.ends_with({"position_embeddings.weight"}))
        return default_initializer(c, tensor);
    return [shape = tensor.shape](const TensorRandom&, std::span<float> values) {
        std::ranges::copy(sinusoidal_table(shape[0], shape[1]), values.begin());
    };
}

}  // namespace

const Architecture distilbert("distilbert", "DistilBert", {"distilbert."}, read_distilbert, build_distilbert,
                              {.bare = {"vocab_", "classifier.", "pre_classifier.", "qa_outputs."},
                               .ignored = {"vocab_projector.weight"},
                               .initial = {
                                   .padding = 0, .padded = {"word_embeddings.weight"}, .rule = initial_distilbert}});

}  // namespace vantage::internal
