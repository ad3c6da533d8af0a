// Attention rollout and attention flow: which input tokens the last state of each token depends on, through all layers,
// if only attention and the residual stream are counted. With A_l the mean of the heads of layer l:
//   Ã_l = (A_l + I) / 2, each row divided by its sum
// Rollout is the product Ã_L … Ã_1. Flow is the maximum flow from (L, i) to (0, j), where Ã_l[i, j] is the capacity of
// the edge from (l, i) to (l − 1, j).
// Abnar & Zuidema, "Quantifying Attention Flow in Transformers" (2020).
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "runtime/base/internal.h"

namespace vantage::internal {

/// A square matrix, row-major.
struct SquareMatrix {
    int size = 0;
    std::vector<double> values;
    double at(int row, int column) const {
        return values[static_cast<std::size_t>(row) * static_cast<std::size_t>(size) +
                      static_cast<std::size_t>(column)];
    }
};

/// Ã of a layer. `sum_of_heads`: the sum of the weights of its `heads` heads, [n, n].
SquareMatrix with_residual(std::span<const double> sum_of_heads, int tokens, int heads);
/// Rollout, [n, n]: row i holds the shares of the input tokens in the last state of token i. Rows sum to 1.
SquareMatrix attention_rollout(std::span<const SquareMatrix> layers);
/// Flow, [n, n]: n² maximum flows (Dinic's algorithm). Rows do not sum to 1. `progress` is called with the rows done.
SquareMatrix attention_flow(std::span<const SquareMatrix> layers, const std::function<void(int)>& progress = {});

}  // namespace vantage::internal
