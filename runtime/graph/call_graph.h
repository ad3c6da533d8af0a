// One call of an op as a graph of its own: to run, check or measure it alone.
#pragma once

#include "runtime/base/internal.h"
#include "vantage/op.h"

namespace vantage::internal {

/// The call as a graph of one node. Results are named result0, result1 …; operands are inputs with their names, or
/// states if a result takes them over.
Graph graph_of_call(const OpCall& call);

}  // namespace vantage::internal
