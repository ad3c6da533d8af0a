#include "runtime/session/plan_cache.h"

#include <algorithm>

#include "runtime/exec/plan_access.h"
#include "runtime/session/model_access.h"

namespace vantage {

GlobalTokens global_tokens_of(const SessionOptions& options) {
    if (!options.global_positions) return {.first = options.global_tokens};
    std::vector<std::int64_t> sorted = *options.global_positions;
    std::ranges::sort(sorted);
    if (sorted.empty() || sorted.back() + 1 == std::ssize(sorted)) return {.first = std::ssize(sorted)};
    return {.scattered = std::move(sorted)};
}

Graph PlanCache::graph(const PlanKey& key) const {
    const ModelConfig& config = config_of(model_);
    const GlobalTokens global = global_tokens_of(options_);
    std::vector<bool> recorded;  // by layer
    for (std::int64_t layer = 0; layer < std::max(config.layers, config.encoder.layers); ++layer)
        recorded.push_back(options_.record_attention.includes(layer));
    return graph_of(model_, {.rows = key.rows,
                             .sequences = key.lanes,
                             .context = context_,
                             .encoder = key.encoder,
                             .cache = options_.precision == Precision::f32 ? DType::f32 : DType::f16,
                             .record_attention = recorded,
                             .all_logits = options_.inspect || key.logits,
                             .hidden = options_.inspect,
                             .head_mask = options_.masked_heads.has_value(),
                             .rope_context = options_.rope_context,
                             .global_tokens = global.first,
                             .global_positions = global.scattered});
}

// Operands may be rounded in all sessions but those of f32, and not where attention is recorded: weights are recomputed
// from the q, k and log-sum-exp that the kernel used.
CompileOptions PlanCache::compile_options() const {
    const bool rounds = options_.precision != Precision::f32 && !options_.record_attention.every &&
                        options_.record_attention.layers.empty();
    return {.fuse = options_.fuse,
            .profile = options_.profile,
            .guard = options_.guard,
            .f16_operands = rounds,
            .int8_operands = rounds && options_.precision == Precision::int8,
            .submission_seconds = options_.submission_seconds};
}

Plan& PlanCache::get(const PlanKey& key) {
    if (const auto made = plans_.find(key); made != plans_.end()) return *made->second;
    auto made =
        std::make_unique<Plan>(detail::PlanAccess::make(graph(key), model_.device(), compile_options(), bindings_));
    return *(plans_[key] = std::move(made));
}

std::uint64_t PlanCache::arena_bytes() const {
    std::uint64_t sum = 0;
    for (const auto& [key, plan] : plans_) sum += plan->arena_bytes();
    return sum;
}

}  // namespace vantage
