// Rewrites of a graph that save dispatches and trips through memory; the results stay the same up to rounding.
#pragma once

#include <string>
#include <vector>

#include "runtime/graph/schedule.h"

namespace vantage::internal {

/// What was fused, one line each: "h.0.matmul + gelu_tanh".
///   weights [in, out] of a linear layer are loaded as [out, in]: one layout for every kernel
///   matmul → activation, matmul → + residual            into the matmul's epilogue
///   add → layer_norm or rms_norm                        into the norm, which returns the sum, too
///   rope → write into a cache                           into one pass
///   split_qkv → writes of k and v into caches           into one pass
std::vector<std::string> fuse(Graph& graph);

/// Merges products of the same rows with several weights (q, k and v; gate and up) into `joint_linear` if `choose`
/// selects a kernel of matmul with `mergeable` set. Returns the names: "layers.0.self_attn.q_proj + two of the same
/// rows". Run it after `fuse`: products with a residual or an activation are not merged.
std::vector<std::string> merge_projections(Graph& graph, const Caps& caps, const KernelChoice& choose);

/// Only the first of these: a matter of layout, not of fusion, and so done even where fusion is off.
void transpose_weights(Graph& graph);

/// Lets matrix units take operands of matrix products and of attention rounded to f16 (CompileOptions::f16_operands).
void allow_f16_operands(Graph& graph);

/// Lets rows that meet quantised weights be rounded to 8 bits (CompileOptions::int8_operands).
void allow_int8_operands(Graph& graph);

}  // namespace vantage::internal
