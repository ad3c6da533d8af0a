// Which matrices of a model's graph make the queries, keys and values of its heads, and which one their output goes
// through.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vantage/graph.h"
#include "vantage/heads.h"

namespace vantage::internal {

/// Whether a node is the attention, of any kind, to the cache of this name. Its first result is the heads' outputs.
bool attends_to(const Graph& graph, const Node& node, const std::string& keys);

/// A matrix with adjacent features for each head.
struct HeadMatrix {
    int weight = -1;              ///< value of the graph
    bool features_first = false;  ///< [features, width of the model] or [width of the model, features]
    /// By query head: its first feature. Heads that share a key head have the same one in `k` and `v`.
    std::vector<std::int64_t> first;
    std::int64_t head_width = 0;  ///< features of a head
    int norm = -1;                ///< node of the layer_norm or rms_norm whose result is multiplied; -1: none
};

/// W_O of a layer. Throws unsupported if what follows the attention is no product with a matrix.
HeadMatrix output_projection(const Graph& graph, std::int64_t layer, AttentionKind kind);

/// All four. Between the products and the attention there may be rotations, norms of heads and scales, which are left
/// out. Throws unsupported for other operations, and for cross-attention, whose keys and values the encoder makes.
struct HeadProjections {
    HeadMatrix q, k, v, o;
};
HeadProjections head_projections(const Graph& graph, std::int64_t layer, AttentionKind kind);

}  // namespace vantage::internal
