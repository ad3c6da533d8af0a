#include "runtime/cost/token_mixing.h"

#include <algorithm>

#include "runtime/cost/symbols.h"

namespace vantage::internal {

namespace {

/// ⌈log_base(n)⌉: layers until a token sees n tokens, when each sees `base` times as many as the one before.
std::int64_t layers_until(std::int64_t n, std::int64_t base) {
    std::int64_t layers = 0;
    for (std::int64_t seen = 1; seen < n; seen *= base) ++layers;
    return layers;
}

}  // namespace

std::vector<TokenMixing> token_mixing(const ModelConfig& config, std::int64_t tokens) {
    const std::int64_t own = config.heads * config.head_width;  // 0 of a model without heads: it would have one of d
    const Formula n = Formula::of("n"), d = Formula::of("d"),
                  heads = own > 0 ? size_formula(symbol_values(config, DType::f16), own, "dH") : d;
    const std::int64_t window = config.windows.empty() ? 0 : std::ranges::max(config.windows),
                       steps = std::max<std::int64_t>(tokens - 1, 0);
    std::vector<TokenMixing> all{
        {"self-attention", "self_attention", 4 * heads * n * n, 1, std::min<std::int64_t>(steps, 1)}};
    if (window > 1)  // a layer carries what a token says w - 1 tokens further
        all.push_back(
            {"attention, window", "window", 4 * heads * n * Formula::of("w"), 1, (steps + window - 2) / (window - 1)});
    all.push_back({"recurrent", "recurrent", 2 * d * d * n, tokens, steps});
    all.push_back({"convolution", "convolution", 2 * convolution_kernel * d * d * n, 1,
                   layers_until(tokens, convolution_kernel)});
    return all;
}

}  // namespace vantage::internal
