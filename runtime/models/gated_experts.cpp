// Shazeer et al., "Outrageously Large Neural Networks" (2017).
#include "runtime/models/gated_experts.h"

namespace vantage::internal {

namespace {

ExpertWeights one_by_one(const ModelBuilder& d, const ExpertNames& names) {
    const ModelConfig& c = d.config;
    const auto experts = [&](const char* name, Shape shape) {
        return d.graph.stacked_weights("experts", std::string(name) + ".weight", c.experts, shape);
    };
    return {.gate = experts(names.gate, {c.inner, c.width}),
            .up = experts(names.up, {c.inner, c.width}),
            .down = experts(names.down, {c.width, c.inner})};
}

ExpertWeights all_joined(const ModelBuilder& d) {
    const ModelConfig& c = d.config;
    return {.gate = d.graph.weight("experts.gate_up_proj", {c.experts, 2 * c.inner, c.width}),
            .up = {},
            .down = d.graph.weight("experts.down_proj", {c.experts, c.width, c.inner})};
}

}  // namespace

Tensor gated_experts(ModelBuilder& d, std::int64_t layer, Tensor x, const ExpertNames& names, bool joined,
                     bool renormalise) {
    const ModelConfig& c = d.config;
    const Tensor logits = d.dense(names.router, x, c.experts, false);
    d.note_router(layer, logits);
    return mixture_of_experts(x, route(logits, c.experts_per_token, renormalise, d.step),
                              joined ? all_joined(d) : one_by_one(d, names), {.gating = {.activation = c.activation}});
}

}  // namespace vantage::internal
