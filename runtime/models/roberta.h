// RoBERTa's encoder and heads, which Longformer has, too.
#pragma once

#include "runtime/models/bert.h"

namespace vantage {

/// As BERT's; the table of positions begins with rows up to the padding token's that no other token has.
void read_roberta_fields(const JsonFields& fields, ModelConfig& config);
/// Rows of the table of positions: the padding token's own for each padding, those behind it for the others, one by one.
std::vector<std::int32_t> roberta_positions(const ModelConfig& config, std::span<const std::int32_t> tokens);
/// The whole model, its heads among it, with this attention in each block.
void build_roberta_with(ModelBuilder& builder, const SelfAttention& attention);
/// Endings of tensors that checkpoints have beside the weights, and of heads that their class does not ask for.
inline const std::vector<const char*> roberta_ignored = {"pooler.dense.weight",     "pooler.dense.bias",
                                                         "embeddings.position_ids", "lm_head.decoder.weight",
                                                         "lm_head.decoder.bias",    "lm_head.bias"};
inline const std::vector<const char*> roberta_optional = {"lm_head.decoder.bias", pooler_weight};

}  // namespace vantage
