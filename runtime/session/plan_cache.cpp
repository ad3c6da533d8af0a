#include "runtime/session/plan_cache.h"

#include <algorithm>

#include "runtime/exec/plan_access.h"
#include "runtime/session/model_access.h"

namespace vantage::internal {

GlobalTokens global_tokens_of(const SessionOptions& options) {
    if (!options.global_positions) return {.first = options.global_tokens};
    std::vector<std::int64_t> sorted = *options.global_positions;
    std::ranges::sort(sorted);
    if (sorted.empty() || sorted.back() + 1 == std::ssize(sorted)) return {.first = std::ssize(sorted)};
    return {.scattered = std::move(sorted)};
}

DType cache_type(const SessionOptions& options) {
    return options.cache.value_or(options.precision == Precision::f32 ? DType::f32 : DType::f16);
}

Graph session_graph(const Model& model, const SessionOptions& options, std::int64_t context, const PlanKey& key) {
    const ModelConfig& config = config_of(model);
    const GlobalTokens global = global_tokens_of(options);
    std::vector<bool> recorded;  // by layer
    for (std::int64_t layer = 0; layer < std::max(config.layers, config.encoder.layers); ++layer)
        recorded.push_back(options.record_attention.includes(layer));
    return graph_of(model, {.rows = key.rows,
                            .sequences = key.lanes,
                            .context = context,
                            .encoder = key.encoder,
                            .cache = cache_type(options),
                            .cache_read = options.precision == Precision::f32 ? DType::f32 : DType::f16,
                            .record_attention = recorded,
                            .all_logits = options.inspect,
                            .hidden = options.inspect,
                            .token_bias = options.token_bias,
                            .head_mask = options.masked_heads.has_value(),
                            .head_shift = options.head_shift.has_value(),
                            .rope_context = options.rope_context,
                            .global_tokens = global.first,
                            .global_positions = global.scattered,
                            .variant = options.variant});
}

// Operands may be rounded in all sessions but those of f32, and not where attention is recorded: weights are recomputed
// from the q, k and log-sum-exp that the kernel used.
CompileOptions PlanCache::compile_options(const PlanKey& key) const {
    const bool rounds = options_.precision != Precision::f32 && !options_.record_attention.every &&
                        options_.record_attention.layers.empty();
    return {.fuse = options_.fuse,
            .profile = options_.profile,
            .guard = options_.guard,
            .f16_operands = rounds,
            .int8_operands = rounds && options_.precision == Precision::int8,
            .stability = !options_.is_stable()           ? Stability::none
                         : key.rows == 1 && !key.encoder ? Stability::rows
                                                         : Stability::cache,
            .submission_seconds = options_.submission_seconds};
}

Plan& PlanCache::get(const PlanKey& key) {
    if (const auto made = std::ranges::find(plans_, key, &Entry::key); made != plans_.end()) {
        plans_.splice(plans_.begin(), plans_, made);
        return *plans_.front().plan;
    }
    if (plans_.size() >= max_plans) plans_.pop_back();  // its memory first
    plans_.push_front(
        {key, std::make_unique<Plan>(PlanAccess::make(session_graph(model_, options_, context_, key), model_.device(),
                                                      compile_options(key), bindings_))});
    return *plans_.front().plan;
}

std::uint64_t PlanCache::arena_bytes() const {
    std::uint64_t sum = 0;
    for (const Entry& entry : plans_) sum += entry.plan->arena_bytes();
    return sum;
}

}  // namespace vantage::internal
