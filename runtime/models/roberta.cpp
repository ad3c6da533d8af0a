// RoBERTa: BERT's encoder with other heads, and positions that skip padding:
//   position(i) = p for the padding token p, else p + the number of tokens up to i that are not p
//   masked tokens: ln(gelu(W x + b)) wordᵀ + b;  classification: W' tanh(W x_0 + b) + b'
// Liu et al., "RoBERTa: A Robustly Optimized BERT Pretraining Approach" (2019).
#include "runtime/models/roberta.h"

namespace vantage::internal {

void read_roberta_fields(const JsonFields& fields, ModelConfig& c) {
    read_bert_fields(fields, c);
    const std::int64_t padding = fields.optional_integer("pad_token_id", 0, max_vocab).value_or(1);
    c.own.set("padding_token", padding);
    c.context -= padding + 1;
    if (c.context < 1) fields.fail("max_position_embeddings", "more than pad_token_id + 1");
}

std::vector<std::int32_t> roberta_positions(const ModelConfig& c, std::span<const std::int32_t> tokens) {
    const auto padding = static_cast<std::int32_t>(c.own.integer("padding_token"));
    std::vector<std::int32_t> rows;
    std::int32_t last = padding;
    for (const std::int32_t token : tokens) rows.push_back(token == padding ? padding : ++last);
    return rows;
}

void build_roberta_with(ModelBuilder& d, const SelfAttention& attention) {
    const ModelConfig& c = d.config;
    const std::int64_t positions = c.context + c.own.integer("padding_token") + 1;
    Tensor words = d.embed(word_embeddings(d));
    if (!c.own.flag("relative_keys"))
        words = words + d.position_embedding(bert_table(d, "position_embeddings", positions));
    const Tensor x = bert_encoder(d, words, attention);
    if (has_bare_pooler(d)) bert_pooler(d, x);
    if (c.head == Head::classification) {
        const Tensor inner = activate(d.dense("classifier.dense", d.first_row(x), c.width, true), Activation::tanh);
        d.graph.output(model_names::logits, d.dense("classifier.out_proj", inner, std::ssize(c.labels), true));
    }
    d.judge_tokens(x);
    if (c.head != Head::masked_lm) return;
    const Tensor transformed = d.layer_norm("lm_head.layer_norm", gelu(d.dense("lm_head.dense", x, c.width, true)));
    d.give_logits(transformed, [&](Tensor rows) { return masked_logits(d, rows, "lm_head.decoder", "lm_head.bias"); });
}

namespace {

void build_roberta(ModelBuilder& d) {
    build_roberta_with(d, [&](std::int64_t layer, Tensor x) { return bert_attention(d, layer, x); });
}

}  // namespace

const Architecture roberta("roberta", "Roberta", {"roberta."}, read_roberta_fields, build_roberta,
                           {.bare = {"lm_head.", "classifier.", "qa_outputs."},
                            .ignored = roberta_ignored,
                            .optional = roberta_optional,
                            .positions = roberta_positions,
                            .initial = roberta_initial});

}  // namespace vantage::internal
