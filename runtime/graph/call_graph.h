// One call of an op as a graph of its own: to run, check or measure it alone.
#pragma once

#include "vantage/op.h"

namespace vantage {

/// The call as a graph of one node, its results named result0, result1 …: operands are inputs by their names, those that a result
/// takes the place of are states.
Graph graph_of_call(const OpCall& call);

}  // namespace vantage
