// BERT: an encoder with post-norm.
//   x = ln(word[token] + position[i] + type[t]);  per block  x = ln(x + attention(x)),  x = ln(x + mlp(x))
//   "relative_key" instead of position[i]: query i meets the keys k_j + distance[i - j], and with "relative_key_query"
//   key j the queries q_i + distance[i - j] (Shaw et al. 2018; Huang et al. 2020)
//   pooler: tanh(W x_0 + b);  masked tokens: ln(gelu(W x + b)) wordᵀ + b
// Devlin, Chang, Lee, Toutanova, "BERT: Pre-training of Deep Bidirectional Transformers" (2018).
#include "runtime/models/bert.h"

namespace vantage::internal {

void read_bert_fields(const JsonFields& fields, ModelConfig& c) {
    read_sizes(fields, c, {.context = 512});
    c.kv_heads = c.heads;  // the architecture has no grouped heads or head widths of their own
    divide_heads(fields, c, "hidden_size", "num_attention_heads");
    read_head(fields, c);
    c.norm_eps = fields.optional_number("layer_norm_eps", 0, 1).value_or(1e-12);
    c.activation = read_activation(fields, "hidden_act", "gelu");
    c.own.set("max_positions", c.context);
    c.token_types = fields.optional_integer("type_vocab_size", 1, max_vocab).value_or(2);
    c.tied = read_tied(fields, true);
    // Vantage's own: transformers has no field for it, but GGUF has a key.
    c.own.set("pools_first_token", fields.optional_flag("pools_first_token").value_or(false));
    const std::string positions = fields.optional_text("position_embedding_type").value_or("absolute");
    if (positions != "absolute" && positions != "relative_key" && positions != "relative_key_query")
        fields.fail("position_embedding_type", "\"absolute\", \"relative_key\" or \"relative_key_query\"");
    c.own.set("relative_keys", positions != "absolute");
    c.own.set("relative_queries", positions == "relative_key_query");
    if (fields.optional_flag("is_decoder").value_or(false)) fields.fail("is_decoder", "false: an encoder");
}

Tensor bert_table(ModelBuilder& d, const char* name, std::int64_t rows) {
    return d.graph.weight(std::string("embeddings.") + name + ".weight", {rows, d.config.width});
}
Tensor word_embeddings(ModelBuilder& d) { return bert_table(d, "word_embeddings", d.config.vocab); }

namespace {

// The distances of a context from the table [2 max_positions - 1, head width], in the order of j - i: the checkpoint
// has them in that of i - j.
Tensor distance_table(ModelBuilder& d) {
    const std::int64_t reach = d.options.context - 1, middle = d.config.own.integer("max_positions") - 1;
    const Tensor table =
        d.graph.weight("attention.self.distance_embedding.weight", {2 * middle + 1, d.config.head_width});
    std::vector<std::int32_t> rows;
    for (std::int64_t distance = reach; distance >= -reach; --distance)
        rows.push_back(static_cast<std::int32_t>(middle + distance));
    return embedding(d.integers("distances", rows), table);
}

}  // namespace

Tensor bert_attention(ModelBuilder& d, std::int64_t layer, Tensor x) {
    const auto heads = [&](const char* name) {
        return d.heads(d.dense(name, x, d.config.width, true), d.config.heads);
    };
    AttentionOptions how;
    if (d.config.own.flag("relative_keys")) how.relative_keys = distance_table(d);
    if (d.config.own.flag("relative_queries")) how.relative_queries = how.relative_keys;
    return d.attend(layer, heads("attention.self.query"), heads("attention.self.key"), heads("attention.self.value"),
                    how);
}

Tensor bert_encoder(ModelBuilder& d, Tensor words, const SelfAttention& attention) {
    const ModelConfig& c = d.config;
    const Tensor types = d.type_embedding(bert_table(d, "token_type_embeddings", c.token_types));
    const Tensor first = d.layer_norm("embeddings.LayerNorm", words + types);  // [n, width]
    const Tensor last = d.blocks("encoder.layer", first, [&](std::int64_t layer, Tensor x) {
        const Tensor seen = attention(layer, x);
        x = d.layer_norm("attention.output.LayerNorm",
                         x + d.drop(d.dense("attention.output.dense", seen, c.width, true)));
        const Tensor inner = activate(d.dense("intermediate.dense", x, c.inner, true), c.activation);
        return d.layer_norm("output.LayerNorm", x + d.drop(d.dense("output.dense", inner, c.width, true)));
    });
    d.finish_encoder(last);
    return last;
}

bool has_bare_pooler(const ModelBuilder& d) { return d.config.head == Head::none && d.has(pooler_weight); }

Tensor bert_pooler(ModelBuilder& d, Tensor x) {
    const Tensor pooled = activate(d.dense("pooler.dense", d.first_row(x), d.config.width, true), Activation::tanh);
    d.graph.output(model_names::pooled, pooled);
    return pooled;
}

Tensor masked_logits(ModelBuilder& d, Tensor x, const std::string& own, const std::string& bias) {
    const ModelConfig& c = d.config;
    const bool own_bias = !c.tied && d.has(own + ".bias");  // transformers 4 always ties the biases
    return linear_transposed(x, c.tied ? word_embeddings(d) : d.graph.weight(own + ".weight", {c.vocab, c.width}),
                             d.graph.weight(own_bias ? own + ".bias" : bias, {c.vocab}));
}

namespace {

void read_bert(const JsonFields& fields, ModelConfig& c) {
    read_bert_fields(fields, c);
    const bool pretraining = c.head == Head::masked_lm && fields.json()["architectures"][0] == "BertForPreTraining";
    c.own.set("relation", pretraining);
}

void build_bert(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    const bool relative = c.own.flag("relative_keys");
    const Tensor words =
        d.embed(word_embeddings(d), relative ? Tensor() : bert_table(d, "position_embeddings", c.context));
    const Tensor x =
        bert_encoder(d, words, [&](std::int64_t layer, Tensor rows) { return bert_attention(d, layer, rows); });
    const bool needs_pooler = c.head == Head::classification || c.own.flag("relation");
    const Tensor pooled = needs_pooler || has_bare_pooler(d) ? bert_pooler(d, x) : Tensor();
    if (c.own.flag("relation")) d.graph.output(model_names::relation, d.dense("cls.seq_relationship", pooled, 2, true));
    if (c.head == Head::classification)
        d.graph.output(model_names::logits, d.dense("classifier", pooled, std::ssize(c.labels), true));
    d.judge_tokens(x);
    if (c.head != Head::masked_lm) return;
    const Tensor inner = activate(d.dense("cls.predictions.transform.dense", x, c.width, true), c.activation);
    const Tensor transformed = d.layer_norm("cls.predictions.transform.LayerNorm", inner);
    d.give_logits(transformed, [&](Tensor rows) {
        return masked_logits(d, rows, "cls.predictions.decoder", "cls.predictions.bias");
    });
}

}  // namespace

const Architecture bert("bert", "Bert", {"bert."}, read_bert, build_bert,
                        {.bare = {"cls.", "classifier.", "qa_outputs."},
                         // the first four belong to heads that a file may contain although its class does not use them
                         .ignored = {"pooler.dense.weight", "pooler.dense.bias", "cls.seq_relationship.weight",
                                     "cls.seq_relationship.bias", "embeddings.position_ids",
                                     "embeddings.position_embeddings.weight",  // of models with relative positions
                                     "cls.predictions.decoder.weight", "cls.predictions.decoder.bias",
                                     "cls.predictions.bias"},
                         .optional = {"cls.predictions.decoder.bias", pooler_weight},
                         .initial = {.padding = 0, .padded = {"word_embeddings.weight"}}});

}  // namespace vantage::internal
