// RoBERTa's encoder and heads, which Longformer has, too.
#pragma once

#include "runtime/models/bert.h"

namespace vantage {

/// As BERT's; positions begin behind the padding token's.
void read_roberta_fields(const JsonFields& fields, ModelConfig& config);
/// The whole model, its heads among it, with this attention in each block.
void build_roberta_with(ModelBuilder& builder, const SelfAttention& attention);
/// Endings of tensors that checkpoints have beside the weights, and of heads that their class does not ask for.
inline const std::vector<const char*> roberta_ignored = {"pooler.dense.weight",     "pooler.dense.bias",
                                                         "embeddings.position_ids", "lm_head.decoder.weight",
                                                         "lm_head.decoder.bias",    "lm_head.bias"};
inline const std::vector<const char*> roberta_optional = {"lm_head.decoder.bias"};

}  // namespace vantage
