// Self-attention worked by hand on four tokens, as a graph: the smallest thing that one can follow number by number.
// Y. Huang, "The Mathematics of Attention and Transformers" (lecture slides).
#pragma once

#include <string>
#include <vector>

#include "vantage/graph.h"

namespace vantage {

/// Outputs of the graph, each [4, 4]:
///   Q = X W_Q, K = X W_K, V = X W_V    X [4, 8], one row per token
///   S = Q Kᵀ                           how well each query fits each key
///   A = softmax(S / √4)                rows sum to 1
///   Z = A V                            what each token takes along
///   Z_fused                            the same by the kernel that never writes A
struct WorkedExample {
    std::vector<std::string> tokens;
    Graph graph;
};
WorkedExample worked_example();

}  // namespace vantage
