// Recomputes activations of the forward pass in the backward pass instead of keeping them.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "vantage/graph.h"

namespace vantage::internal {

/// What the backward pass finds of the forward pass.
struct Recompute {
    /// Of the first `blocks` blocks only what goes in and comes out; all else is recomputed (Chen et al. 2016).
    std::int64_t blocks = 0;
    /// Of the others what costs arithmetic to make; norms, activations and others that memory bounds are recomputed
    /// (selective recomputation, Korthikanti et al. 2022).
    bool cheap = false;

    bool operator==(const Recompute&) const = default;
};

/// Rewrites a graph whose nodes from `first_backward` on were added by gradients(). `blocks` are the scopes of its
/// blocks ("h.0." …). The backward pass of each block that recomputes becomes a segment of its own, which begins with
/// copies of the forward nodes that it needs, so that no order of dispatches makes them earlier. Sums of gradients
/// (accumulate) move to where their gradient is made. Numbers do not change: a copy draws the same dropout. Call it
/// while the graph ends with the backward pass.
void recompute(Graph& graph, std::size_t first_backward, std::span<const std::string> blocks, const Recompute& what);

}  // namespace vantage::internal
