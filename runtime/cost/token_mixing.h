// Three kinds of layers that let n tokens of width d see each other, and what each costs.
// Vaswani et al. 2017, table 1, with counts in place of O(·).
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/cost/cost.h"

namespace vantage::internal {

/// Only what mixes tokens is counted, without projections of single tokens.
struct TokenMixing {
    const char* layer;            ///< "self-attention"
    const char* id;               ///< "self_attention": in JSON
    Formula flops;                ///< of one layer
    std::int64_t sequential = 0;  ///< steps that wait for each other, in one layer
    std::int64_t path = 0;        ///< steps between the two tokens that are furthest apart
};

inline constexpr std::int64_t convolution_kernel = 3;  ///< tokens that a convolution sees

/// Of all n tokens, without a mask:
///   self-attention  Q Kᵀ and A V                     4·H·D·n²
///   window          the same with w keys per query   4·H·D·n·w; only for models with a window
///   recurrent       U h_(t-1), U [d, d]              2·d²·n
///   convolution     kernel 3, dilation 3^layer       6·d²·n
std::vector<TokenMixing> token_mixing(const ModelConfig& config, std::int64_t tokens);

}  // namespace vantage::internal
