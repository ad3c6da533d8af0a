// Self-attention on four tokens as a graph, small enough to be followed by hand.
// Y. Huang, "The Mathematics of Attention and Transformers" (lecture slides).
#pragma once

#include <string>
#include <vector>

#include "runtime/base/internal.h"
#include "vantage/graph.h"

namespace vantage::internal {

/// Outputs of the graph, [4, 4]:
///   Q = X W_Q, K = X W_K, V = X W_V    X [4, 8], one row per token
///   S = Q Kᵀ                           scores of each query for each key
///   A = softmax(S / √4)                rows sum to 1
///   Z = A V                            outputs, one row per token
///   Z_fused                            Z again, by the fused attention op, which does not store A
/// and of the same Q and K as two heads of width 2, [2, 4, 4]:
///   S_heads = Q_h K_hᵀ, A_heads = softmax(S_h / √2)
struct WorkedExample {
    std::vector<std::string> tokens;
    Graph graph;
};
WorkedExample worked_example();

}  // namespace vantage::internal
