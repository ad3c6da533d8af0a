// Zeros in place of a gradient that is zero, where a rule must have it as a tensor.
#pragma once

#include "vantage/graph.h"

namespace vantage::internal {

/// A constant of zeros in f32. The same shape gives the same tensor.
inline Tensor zeros(Graph& graph, const Shape& shape, SourceLocation where) {
    const auto count = static_cast<std::size_t>(shape.elements());
    return graph.constant(
        "zeros " + shape.text(), shape, [count] { return std::vector<float>(count); }, where);
}

}  // namespace vantage::internal
