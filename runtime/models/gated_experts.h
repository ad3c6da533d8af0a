// A mixture of experts in place of the MLP, each expert down(activation(gate(x)) ∘ up(x)). Of Mixtral and Jamba.
#pragma once

#include "runtime/models/architecture.h"

namespace vantage::internal {

/// What a checkpoint calls the parts, below the open scope: the router, and the three matrices of each expert.
struct ExpertNames {
    const char *router, *gate, *up, *down;
};
/// Over the rows x [n, width] of a layer; each token uses the config's experts_per_token. `joined`: the checkpoint has
/// two tensors for all experts, "experts.gate_up_proj" and "experts.down_proj", in place of three for each.
Tensor gated_experts(ModelBuilder& builder, std::int64_t layer, Tensor x, const ExpertNames& names, bool joined,
                     bool renormalise);

}  // namespace vantage::internal
