// Attention through all layers: how much of what a token ends as comes from which token of the input, if attention were all.
//
// Both take the layers' weights, averaged over heads, mixed with the residual stream and made to sum to 1:
//   Ã_l = (A_l + I) / 2, each row divided by its sum
// Rollout multiplies them, Ã_L … Ã_1: the share of all paths from a token's end to a token's beginning. Flow takes Ã_l[i, j]
// as the capacity of an edge from (l, i) to (l − 1, j), and asks for the largest flow from one to the other.
// Abnar & Zuidema, "Quantifying Attention Flow in Transformers" (2020).
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace vantage {

/// A square matrix, row after row.
struct SquareMatrix {
    int size = 0;
    std::vector<double> values;
    double at(int row, int column) const {
        return values[static_cast<std::size_t>(row) * static_cast<std::size_t>(size) +
                      static_cast<std::size_t>(column)];
    }
};

/// Ã of a layer from the weights of its heads, each [n, n]: `heads` of them are added up already.
SquareMatrix with_residual(std::span<const double> sum_of_heads, int tokens, int heads);
/// [n, n]: row i says where token i's last state comes from. Rows sum to 1.
SquareMatrix attention_rollout(std::span<const SquareMatrix> layers);
/// The same by maximum flow, n² of them (Dinic's algorithm); rows do not sum to 1. `progress` is called with the rows done.
SquareMatrix attention_flow(std::span<const SquareMatrix> layers, const std::function<void(int)>& progress = {});

}  // namespace vantage
