// Rows of a model's token embedding on the host.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vantage/heads.h"
#include "vantage/model.h"

namespace vantage::internal {

/// The rows of these tokens [tokens, width] in the table that this kind of attention reads, without positions; empty
/// for a model that reads no tokens.
std::vector<float> token_embeddings(const Model& model, std::span<const std::int32_t> ids, AttentionKind kind);

}  // namespace vantage::internal
