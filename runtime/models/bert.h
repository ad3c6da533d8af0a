// BERT's encoder, shared with RoBERTa.
#pragma once

#include "runtime/models/architecture.h"
#include "runtime/models/config_fields.h"

namespace vantage::internal {

void read_bert_fields(const JsonFields& fields, ModelConfig& config);
/// The attention of a layer: x [n, width] → [n, width].
using SelfAttention = std::function<Tensor(std::int64_t layer, Tensor x)>;
/// Full attention with the projections "attention.self".
Tensor bert_attention(ModelBuilder& builder, std::int64_t layer, Tensor x);
/// An embedding table [rows, width].
Tensor bert_table(ModelBuilder& builder, const char* name, std::int64_t rows);
/// Embeddings and blocks. `words` [n, width] includes positions, but not token types. Returns the last hidden state
/// [n, width].
Tensor bert_encoder(ModelBuilder& builder, Tensor words, const SelfAttention& attention);
inline constexpr const char* pooler_weight = "pooler.dense.weight";
/// Weights of the pooler, which base models may omit.
bool has_bare_pooler(const ModelBuilder& builder);
/// Adds the output tanh(W x[0] + b).
Tensor bert_pooler(ModelBuilder& builder, Tensor x);
/// Logits over the vocabulary: x wordᵀ + bias, or with the untied layer `own`.
Tensor masked_logits(ModelBuilder& builder, Tensor x, const std::string& own, const std::string& bias);
Tensor word_embeddings(ModelBuilder& builder);

}  // namespace vantage::internal
