// Products of the same few rows become one launch.
#pragma once

#include <string>
#include <vector>

#include "runtime/graph/schedule.h"

namespace vantage {

/// Merges matrix products of the same rows with weights (q, k and v; gate and up with what gates) into `joint_linear`, where
/// `choose` gives matmul's kernel for few rows; of other kernels each knows better how it wants its weights. Returns what was
/// merged, by name: "layers.0.self_attn.q_proj: 3 products of the same rows". After `fuse`, whose epilogues stay apart.
using KernelChoice = std::function<const Kernel*(const OpCall&, const Caps&)>;
std::vector<std::string> merge_projections(Graph& graph, const Caps& caps, const KernelChoice& choose);

}  // namespace vantage
