// A model folder without some of its attention heads.
// Michel, Levy & Neubig, "Are Sixteen Heads Really Better than One?" (2019).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/models/config.h"
#include "vantage/heads.h"

namespace vantage::internal {

struct PrunedModel {
    /// Matrices without the heads' features, in a model with fewer heads; else zeros in the output projections.
    bool smaller = false;
    std::uint64_t parameters_before = 0, parameters_after = 0;
};

/// Writes the model of folder `from` without these heads to the folder `to`, which must be new or empty: whole or not
/// at all. The weights keep their names, types and files. Other files are copied if they are JSON, text, tokenizer
/// models or chat templates; weights in other formats are not, because they have the heads.
///
/// Matrices become smaller where all layers lose as many heads, and every key head as many of its query heads or all of
/// them, in architectures whose config.json has head_dim, if the width is a multiple of the new number of heads.
/// Otherwise the features of the heads are 0 in the output projections, which all programs can load: transformers 5 has
/// no models with a number of heads for each layer. Both give the logits of SessionOptions::masked_heads. Throws usage
/// for a head that is not there and for no heads, bad_file, unsupported where layers share their weights. A file of
/// weights is held in memory at a time.
PrunedModel prune_heads(const std::string& from, const std::string& to, std::span<const HeadId> heads);

}  // namespace vantage::internal
