// Gradients: nodes that compute how a loss changes with tensors are added to its graph.
//
// Threads: as for the graph that a function adds to: one at a time.
// Errors: usage, with the op and the line of its call, for an op that cannot be differentiated, and for tensors that do
// not fit.
#pragma once

#include <span>
#include <vector>

#include "vantage/graph.h"

namespace vantage {

/// ∂loss/∂x for each x of `of`, as tensors of the loss's graph with the shapes of x: reverse-mode differentiation
/// (Linnainmaa 1970; Griewank & Walther 2008). The loss is f32 with one element. An empty tensor is a gradient of
/// zeros: the loss does not depend on x. Only nodes between `of` and the loss are differentiated. A sum over several
/// uses of a value has a fixed order.
std::vector<Tensor> gradients(Tensor loss, std::span<const Tensor> of, SourceLocation where = SourceLocation::here());

/// x itself, whose gradient is zero: what comes before learns nothing from what comes behind.
Tensor stop_gradient(Tensor x, SourceLocation where = SourceLocation::here());

/// y itself, one element, with gradients that the caller has computed: ∂y/∂x is `gradient`, of x's shape, for each x
/// that is listed, and zero for all else. For functions whose gradient is cheaper or more exact than their nodes'.
struct GivenGradient {
    Tensor x, gradient;
};
Tensor given_gradients(Tensor y, std::span<const GivenGradient> given, SourceLocation where = SourceLocation::here());

}  // namespace vantage
