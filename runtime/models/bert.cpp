// BERT: an encoder, norm last.
//   x = ln(word[token] + position[i] + type[t]);  per block  x = ln(x + attention(x)),  x = ln(x + mlp(x))
//   pooler: tanh(W x_0 + b);  masked tokens: ln(gelu(W x + b)) wordᵀ + b
// Devlin, Chang, Lee, Toutanova, "BERT: Pre-training of Deep Bidirectional Transformers" (2018).
#include "runtime/models/bert.h"

namespace vantage {

void read_bert(const JsonFields& fields, ModelConfig& c) {
    read_sizes(fields, c, {.context = 512});
    read_head(fields, c);
    c.norm_eps = fields.optional_number("layer_norm_eps", 0, 1).value_or(1e-12);
    c.activation = read_activation(fields, "hidden_act", "gelu");
    c.token_types = fields.optional_integer("type_vocab_size", 1, most_vocab).value_or(2);
    c.tied = read_tied(fields, true);
    if (fields.optional_text("position_embedding_type").value_or("absolute") != "absolute")
        fields.fail("position_embedding_type", "\"absolute\"");
    if (fields.optional_flag("is_decoder").value_or(false)) fields.fail("is_decoder", "false: an encoder");
}

Tensor word_embeddings(ModelBuilder& d) {
    return d.graph.weight("embeddings.word_embeddings.weight", {d.config.vocab, d.config.width});
}

Tensor bert_encoder(ModelBuilder& d, std::int64_t first_position) {
    const ModelConfig& c = d.config;
    const auto table = [&](const char* name, std::int64_t rows) {
        return d.graph.weight(std::string("embeddings.") + name + ".weight", {rows, c.width});
    };
    const Tensor words =
        d.embed(word_embeddings(d), table("position_embeddings", c.context + first_position), first_position);
    const Tensor types = d.type_embedding(table("token_type_embeddings", c.token_types));
    Tensor x = d.layer_norm("embeddings.LayerNorm", words + types);  // [n, width]
    d.note_hidden(x);
    for (int layer = 0; layer < c.layers; ++layer) {
        const Graph::Scope block = d.graph.scope("encoder.layer", layer);
        const auto heads = [&](const char* name) { return d.heads(d.dense(name, x, c.width, true), c.heads); };
        const Tensor seen =
            d.attend(layer, heads("attention.self.query"), heads("attention.self.key"), heads("attention.self.value"));
        x = d.layer_norm("attention.output.LayerNorm", x + d.dense("attention.output.dense", seen, c.width, true));
        const Tensor inner = activate(d.dense("intermediate.dense", x, c.inner, true), c.activation);
        x = d.layer_norm("output.LayerNorm", x + d.dense("output.dense", inner, c.width, true));
        d.note_hidden(x);
    }
    d.finish_encoder(x);
    return x;
}

Tensor bert_pooler(ModelBuilder& d, Tensor x, const std::string& name) {
    const Tensor pooled = activate(d.dense(name, d.first_row(x), d.config.width, true), Activation::tanh);
    d.graph.output(model_names::pooled, pooled);
    return pooled;
}

namespace {

void read(const JsonFields& fields, ModelConfig& c) {
    read_bert(fields, c);
    const bool pretraining = c.head == Head::masked_lm && fields.json()["architectures"][0] == "BertForPreTraining";
    c.own.set("relation", pretraining);
    c.own.set("pooler", c.head != Head::masked_lm || pretraining);
}

void build(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    const Tensor x = bert_encoder(d, 0);
    const Tensor pooled = c.own.flag("pooler") ? bert_pooler(d, x, "pooler.dense") : Tensor();
    if (c.own.flag("relation")) d.graph.output(model_names::relation, d.dense("cls.seq_relationship", pooled, 2, true));
    if (c.head == Head::classification)
        d.graph.output(model_names::logits,
                       d.dense("classifier", pooled, static_cast<std::int64_t>(c.labels.size()), true));
    if (c.head != Head::masked_lm) return;
    const Tensor inner = activate(d.dense("cls.predictions.transform.dense", x, c.width, true), c.activation);
    const Tensor transformed = d.layer_norm("cls.predictions.transform.LayerNorm", inner);
    const Tensor bias = d.graph.weight("cls.predictions.bias", {c.vocab});
    d.graph.output(model_names::logits, linear_transposed(transformed, word_embeddings(d), bias));
}

}  // namespace

extern const Architecture bert;
const Architecture bert = {
    .name = "bert",
    .class_begin = "Bert",
    .prefixes = {"bert."},
    .read = read,
    .build = build,
    // the first four are heads that a file may have beside those that its class asks for
    .ignored = {"pooler.dense.weight", "pooler.dense.bias", "cls.seq_relationship.weight", "cls.seq_relationship.bias",
                "embeddings.position_ids", "cls.predictions.decoder.weight", "cls.predictions.decoder.bias"}};

}  // namespace vantage
