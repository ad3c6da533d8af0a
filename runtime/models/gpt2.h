// GPT-2's blocks, shared with the encoder–decoder that has them as its decoder.
#pragma once

#include "runtime/models/architecture.h"
#include "runtime/models/config_fields.h"

namespace vantage::internal {

void read_gpt2_fields(const JsonFields& fields, ModelConfig& config);
/// The embedding table [vocab, width].
Tensor gpt2_words(ModelBuilder& builder);
/// Embeddings and blocks, without the norm behind them: [n, width]. In an encoder–decoder each block also attends to
/// what the encoder offers.
Tensor gpt2_blocks(ModelBuilder& builder, Tensor words);
/// Keys and values of `source` [n, width] for the cross-attention of each block.
void write_gpt2_cross_kv(ModelBuilder& builder, Tensor source);
Initializer initial_gpt2(const ModelConfig& config, const NamedTensor& tensor);

}  // namespace vantage::internal
