// Rewrites of a graph that save dispatches and trips through memory; the results stay the same up to rounding.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/internal.h"
#include "vantage/graph.h"

namespace vantage::internal {

/// What was fused, one line each: "h.0.matmul + gelu_tanh".
///   weights [in, out] of a linear layer are loaded as [out, in]: one layout for every kernel
///   matmul → activation, matmul → + residual            into the matmul's epilogue
///   add → layer_norm or rms_norm                        into the norm, which returns the sum, too
///   rope → write into a cache                           into one pass
///   split_qkv → writes of k and v into caches           into one pass
std::vector<std::string> fuse(Graph& graph);

/// Only the first of these: a matter of layout, not of fusion, and so done even where fusion is off.
void transpose_weights(Graph& graph);

/// Lets matrix units take operands of matrix products and of attention rounded to f16 (CompileOptions::f16_operands).
void allow_f16_operands(Graph& graph);
/// Also of operands that are stored in f32, such as the weights that a training step changes.
void allow_f16_products(Graph& graph);

/// Lets rows that meet quantised weights be rounded to 8 bits (CompileOptions::int8_operands).
void allow_int8_operands(Graph& graph);

/// Lets the last bits of a row's results not depend on the size of caches, and with `any_rows` not on the number of
/// rows (CompileOptions::stability).
void keep_stable(Graph& graph, bool any_rows);

}  // namespace vantage::internal
