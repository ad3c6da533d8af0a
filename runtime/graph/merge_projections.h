// Merges products of the same few rows into one launch.
#pragma once

#include <string>
#include <vector>

#include "runtime/graph/schedule.h"

namespace vantage::internal {

/// Merges products of the same rows with several weights (q, k and v; gate and up) into `joint_linear` if `choose`
/// selects a kernel of matmul with `mergeable` set. Returns the names: "layers.0.self_attn.q_proj + two of the same
/// rows". Run it after `fuse`: products with a residual or an activation are not merged.
///
/// Where the rows are one token of each sequence, q, k and v also take the `rope_write` behind them:
/// "layers.0.self_attn.joint_linear + rope_write".
std::vector<std::string> merge_projections(Graph& graph, const Caps& caps, const KernelChoice& choose);

}  // namespace vantage::internal
