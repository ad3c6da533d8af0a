// BERT's encoder, which RoBERTa has, too.
#pragma once

#include "runtime/models/architecture.h"
#include "runtime/models/config_fields.h"

namespace vantage {

void read_bert_fields(const JsonFields& fields, ModelConfig& config);
/// What a layer's tokens make of each other: x [n, width] → [n, width].
using SelfAttention = std::function<Tensor(std::int64_t layer, Tensor x)>;
/// Each token sees all: query, key and value of "attention.self".
Tensor bert_attention(ModelBuilder& builder, std::int64_t layer, Tensor x);
/// A table of the embeddings [rows, width].
Tensor bert_table(ModelBuilder& builder, const char* name, std::int64_t rows);
/// Embeddings and blocks; `words` [n, width] have their positions, but not their types. Returns the last hidden state,
/// [n, width].
Tensor bert_encoder(ModelBuilder& builder, Tensor words, const SelfAttention& attention);
inline constexpr const char* pooler_weight = "pooler.dense.weight";
/// Bare models are saved with a pooler or without.
bool has_bare_pooler(const ModelBuilder& builder);
/// tanh(W x[0] + b), an output.
Tensor bert_pooler(ModelBuilder& builder, Tensor x);
/// Logits of all words: x wordᵀ + bias, or with a layer `own` where that is not tied.
Tensor masked_logits(ModelBuilder& builder, Tensor x, const std::string& own, const std::string& bias);
Tensor word_embeddings(ModelBuilder& builder);

}  // namespace vantage
