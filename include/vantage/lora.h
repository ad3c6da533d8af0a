// Low-rank adapters (LoRA): small matrices beside the linear layers of a model whose own weights stay.
//
// Threads: values: any thread.
// Errors: none. What takes them throws usage where they do not fit the model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vantage {

/// y = x W + b becomes y = x W + b + factor (x Aᵀ) Bᵀ with A [rank, in] and B [out, rank] (Hu et al., "LoRA: Low-Rank
/// Adaptation of Large Language Models", 2021). W and b stay what they are. In files adapters have the format of PEFT
/// (https://github.com/huggingface/peft).
struct LoraOptions {
    std::int64_t rank = 16;
    double alpha = 32;
    /// Names of linear layers, whole or their ends: "q_proj", "c_attn", "layers.0.mlp.up_proj". "all-linear": all but
    /// the output layer and the routers of experts.
    std::vector<std::string> targets = {"all-linear"};
    bool rslora = false;  ///< factor = alpha / √rank (Kalajdzievski 2023) in place of alpha / rank
    /// Training: x Aᵀ becomes d(x) Aᵀ, where d sets features to 0 with this probability, from 0 to below 1, and divides
    /// the others by 1 - dropout. Each layer draws numbers of its own. Evaluation and sessions have none.
    double dropout = 0;

    double factor() const;
    bool operator==(const LoraOptions&) const = default;
};

}  // namespace vantage
