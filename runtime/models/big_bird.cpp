// BigBird: BERT's encoder for long texts, whose blocks of tokens see few blocks.
//   x = ln(word[token] (times √width) + position[i] + type[t]);  blocks as BERT's
//   a block of queries sees its own block and its two neighbours, the first block, the last one, and r drawn ones; the
//   first and the last block see all. Short texts (5 + 2 r blocks) see all, as "original_full" does any.
//   The r drawn blocks are block 0 in transformers outside of training: its keys count 1 + r times (bigbird_blocks).
//   pooler: tanh(W x_0 + b);  masked tokens: ln(act(W x + b)) wordᵀ + b;  classification: W' act(W x_0 + b) + b'
//   answers: W'' ln(x + W' act(W x + b) + b') + b''
// Zaheer et al., "Big Bird: Transformers for Longer Sequences" (2020), with global blocks of the text (ITC).
#include <cmath>

#include "runtime/base/errors.h"
#include "runtime/base/format.h"
#include "runtime/models/bert.h"
#include "runtime/ops/bigbird_blocks.h"

namespace vantage::internal {

namespace {

constexpr const char* bare_pooler = "pooler.weight";

void read_blocks(const JsonFields& fields, ModelConfig& c) {
    const std::string type = fields.optional_text("attention_type").value_or("block_sparse");
    if (type != "block_sparse" && type != "original_full")
        fields.fail("attention_type", "\"block_sparse\" or \"original_full\"");
    const std::int64_t size = fields.optional_integer("block_size", 1, 1 << 20).value_or(64),
                       random = fields.optional_integer("num_random_blocks", 0, 1024).value_or(3);
    if (type == "original_full") return;
    if ((c.context + size - 1) / size > ops::bigbird_blocks::max_blocks)
        fields.fail("block_size", format("larger ones: the {} positions have at most {} blocks", c.context,
                                         ops::bigbird_blocks::max_blocks));
    c.own.set("block_size", size);
    c.own.set("random_blocks", random);
}

void read_big_bird(const JsonFields& fields, ModelConfig& c) {
    read_bert_fields(fields, c);
    if (c.own.flag("relative_keys")) fields.fail("position_embedding_type", "\"absolute\"");
    if (!fields.has("max_position_embeddings")) c.context = 4096;
    c.activation = read_activation(fields, "hidden_act", "gelu_new");
    c.qkv_bias = fields.optional_flag("use_bias").value_or(true);
    c.own.set("rescale", fields.optional_flag("rescale_embeddings").value_or(false));
    c.own.set("relation", c.head == Head::masked_lm && class_of(fields) == "BigBirdForPreTraining");
    read_blocks(fields, c);
}

// Which blocks see each other, of all layers: nothing where all tokens do.
AttentionOptions visible_blocks(ModelBuilder& d) {
    const Attrs& own = d.config.own;
    const std::int64_t size = own.integer("block_size"), random = own.integer("random_blocks");
    if (size == 0 || d.options.context <= ops::bigbird_blocks::longest_full(size, random)) return {};
    if (d.trains())
        throw unsupported_error(
            "training of block-sparse attention is not supported: sequences have {} tokens, but only up to {} see all; "
            "take shorter ones, or \"attention_type\": \"original_full\"",
            d.options.context, ops::bigbird_blocks::longest_full(size, random));
    const std::int64_t blocks = (d.options.context + size - 1) / size;
    const Tensor table = d.graph.state(model_names::block_counts, {d.options.sequences, blocks, blocks}, DType::i32);
    return {.block_mask = bigbird_blocks(table, d.step, size, random), .block_size = size};
}

Tensor big_bird_encoder(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    const double factor = c.own.flag("rescale") ? std::sqrt(static_cast<double>(c.width)) : 1;
    const Tensor words = d.embed(word_embeddings(d), bert_table(d, "position_embeddings", c.context), 0, factor);
    const AttentionOptions blocks = visible_blocks(d);
    return bert_encoder(d, words, [&](std::int64_t layer, Tensor x) {
        const auto heads = [&](const char* name) { return d.heads(d.dense(name, x, c.width, c.qkv_bias), c.heads); };
        return d.attend(layer, heads("attention.self.query"), heads("attention.self.key"),
                        heads("attention.self.value"), blocks);
    });
}

Tensor pooler(ModelBuilder& d, Tensor x) {
    const Tensor pooled = activate(d.dense("pooler", d.first_row(x), d.config.width, true), Activation::tanh);
    d.graph.output(model_names::pooled, pooled);
    return pooled;
}

void judge(ModelBuilder& d, Tensor x) {
    const ModelConfig& c = d.config;
    const auto inner = [&](const char* name, Tensor rows, std::int64_t width) {
        return activate(d.dense(name, rows, width, true), c.activation);
    };
    if (c.head == Head::classification) {
        const Tensor first = inner("classifier.dense", d.first_row(x), c.width);
        d.graph.output(model_names::logits, d.dense("classifier.out_proj", first, std::ssize(c.labels), true));
    } else if (c.head == Head::question_answering) {
        const Tensor wide = inner("qa_classifier.intermediate.dense", x, c.inner);
        const Tensor normed = d.layer_norm("qa_classifier.output.LayerNorm",
                                           x + d.dense("qa_classifier.output.dense", wide, c.width, true));
        d.graph.output(model_names::logits, d.dense("qa_classifier.qa_outputs", normed, std::ssize(c.labels), true));
    } else if (c.head == Head::token_classification) {
        d.judge_tokens(x);
    } else if (c.head == Head::masked_lm) {
        const Tensor transformed =
            d.layer_norm("cls.predictions.transform.LayerNorm", inner("cls.predictions.transform.dense", x, c.width));
        d.give_logits(transformed, [&](Tensor rows) {
            return masked_logits(d, rows, "cls.predictions.decoder", "cls.predictions.bias");
        });
    }
}

void build_big_bird(ModelBuilder& d) {
    const Tensor x = big_bird_encoder(d);
    const bool relation = d.config.own.flag("relation");
    if (relation || d.has(bare_pooler)) {  // also beside heads that do not need it
        const Tensor pooled = pooler(d, x);
        if (relation) d.graph.output(model_names::relation, d.dense("cls.seq_relationship", pooled, 2, true));
    }
    judge(d, x);
}

}  // namespace

const Architecture big_bird("big_bird", "BigBird", {"bert."}, read_big_bird, build_big_bird,
                            {.bare = {"cls.", "classifier.", "qa_classifier."},
                             // what a file may contain although its class does not use it
                             .ignored = {"pooler.weight", "pooler.bias", "cls.seq_relationship.weight",
                                         "cls.seq_relationship.bias", "embeddings.position_ids",
                                         "embeddings.token_type_ids", "cls.predictions.decoder.weight",
                                         "cls.predictions.decoder.bias", "cls.predictions.bias"},
                             .optional = {"cls.predictions.decoder.bias", bare_pooler},
                             .initial = {.padding = 0, .padded = {"word_embeddings.weight"}}});

}  // namespace vantage::internal
