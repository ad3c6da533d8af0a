// Variants of attention: their names, which models allow them, and BigBird's table.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/models/config.h"
#include "vantage/heads.h"

namespace vantage::internal {

/// Whether the form has weights of its own, which config.json names ("attention_kinds").
bool has_weights(AttentionForm form);
/// Throws usage for a number that the form does not have.
void require_number(const AttentionVariant& variant);
/// Throws usage, with what is missing, unless the model's layers allow the variant. `how` is how a layer attends
/// without it.
void require_allowed(const AttentionVariant& variant, const ModelConfig& config, const AttentionOptions& how);
/// Which blocks of `size` tokens see each other in a context: [blocks, blocks]. Of each block it is the same in every
/// context: its random ones lie before it, and in an encoder those see it, too.
std::vector<std::int32_t> bigbird_table(std::int64_t context, std::int64_t size, bool causal);
/// Blocks of a context.
inline std::int64_t blocks_of(std::int64_t context, std::int64_t size) { return (context + size - 1) / size; }

}  // namespace vantage::internal
