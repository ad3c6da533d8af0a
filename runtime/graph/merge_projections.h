// Merges products of the same few rows into one launch.
#pragma once

#include <string>
#include <vector>

#include "runtime/graph/schedule.h"

namespace vantage::internal {

/// Merges products of the same rows with several weights (q, k and v; gate and up) into `joint_linear` if `choose`
/// selects a kernel of matmul with `mergeable` set. Where the rows are one token of each sequence, q, k and v also take
/// the `rope_write` that follows them. Returns the names: "layers.0.matmul + two of the same rows",
/// "layers.0.joint_linear + rope_write". Run it after `fuse`: products with a residual or an activation are not merged.
std::vector<std::string> merge_projections(Graph& graph, const Caps& caps, const KernelChoice& choose);

}  // namespace vantage::internal
