// RoBERTa's encoder and heads, shared with Longformer.
#pragma once

#include "runtime/models/bert.h"

namespace vantage::internal {

/// Reads BERT's fields. The first rows of the position table, up to that of the padding token, are reserved.
void read_roberta_fields(const JsonFields& fields, ModelConfig& config);
/// Row of the position table for each token: for padding, the padding token's row; for others, the following rows in
/// order.
std::vector<std::int32_t> roberta_positions(const ModelConfig& config, std::span<const std::int32_t> tokens);
/// Builds the model with its head, with this attention in each block.
void build_roberta_with(ModelBuilder& builder, const SelfAttention& attention);
/// Endings of tensors that are not weights, and of heads that the class does not use.
inline const std::vector<const char*> roberta_ignored = {"pooler.dense.weight",
                                                         "pooler.dense.bias",
                                                         "embeddings.position_ids",
                                                         "embeddings.position_embeddings.weight",
                                                         "lm_head.decoder.weight",
                                                         "lm_head.decoder.bias",
                                                         "lm_head.bias"};
inline const std::vector<const char*> roberta_optional = {"lm_head.decoder.bias", pooler_weight};
/// The row of the padding token is one of both tables.
inline const InitialWeights roberta_initial = {.padding = 1,
                                               .padded = {"word_embeddings.weight", "position_embeddings.weight"}};

}  // namespace vantage::internal
