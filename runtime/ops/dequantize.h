// Floats of a quantised cache, for kernels that read no other.
#pragma once

#include "runtime/graph/op_def.h"
#include "vantage/graph.h"

namespace vantage::internal {

namespace ops::dequantize {
extern const OpDef dequantize_op;
VANTAGE_OPERANDS(x_, step_);
/// Of `keys`, or values: the quantised cache whose floats they are, else `keys`.
int cache_of(const Graph& graph, int keys);
}  // namespace ops::dequantize

using ops::dequantize::dequantize_op;

/// x [rows, …] of quantised rows, in `type`. With a step those of the sequence of each lane, lane by lane, and only
/// the rows that hold keys; what is behind them is not defined, but for the first 256, which are 0.
Tensor dequantize(Tensor x, Tensor step, DType type, SourceLocation where = SourceLocation::here());

}  // namespace vantage::internal
