// Mixtral: Mistral with a mixture of experts instead of the MLP. Each token uses a few of them.
//   p = softmax(gate(x)), the top_k largest divided by their sum;  y = Σ p_e w2_e(silu(w1_e x) ∘ w3_e x)
// Checkpoints contain w1, w2 and w3 of each expert, or two tensors for all experts with w1 and w3 joined: the layout of
// transformers 5 in memory, saved with save_original_format=False.
// Jiang et al., "Mixtral of Experts" (2024); Shazeer et al., "Outrageously Large Neural Networks" (2017).
#include "runtime/models/llama.h"

namespace vantage::internal {

namespace {

constexpr const char* first_joined_experts = "layers.0.mlp.experts.gate_up_proj";

void read_mixtral(const JsonFields& fields, ModelConfig& c) {
    read_llama(fields, c, {.kv_heads = 8, .norm_eps = 1e-5, .rope_theta = 1e6});
    read_experts(fields, c, 8, 2);
    read_windows(fields, c, read_window(fields, 0), [](std::int64_t) { return true; });
    c.absent = {first_joined_experts};  // until the checkpoint shows the joined layout
}

ExpertWeights experts_one_by_one(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    const auto experts = [&](const char* name, Shape shape) {
        return d.graph.stacked_weights("experts", name, c.experts, shape);
    };
    return {.gate = experts("w1.weight", {c.inner, c.width}),
            .up = experts("w3.weight", {c.inner, c.width}),
            .down = experts("w2.weight", {c.width, c.inner})};
}

ExpertWeights experts_joined(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    return {.gate = d.graph.weight("experts.gate_up_proj", {c.experts, 2 * c.inner, c.width}),
            .up = {},
            .down = d.graph.weight("experts.down_proj", {c.experts, c.width, c.inner})};
}

void build_mixtral(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    const bool joined = d.has(first_joined_experts);
    const auto mlp = [&](std::int64_t layer, Tensor x) {
        const Graph::Scope moe = d.graph.scope(joined ? "mlp" : "block_sparse_moe");
        const Tensor logits = d.dense("gate", x, c.experts, false);
        d.note_router(layer, logits);
        return mixture_of_experts(x, route(logits, c.experts_per_token, true, d.step),
                                  joined ? experts_joined(d) : experts_one_by_one(d),
                                  {.gating = {.activation = c.activation}});
    };
    build_llama_with(d, {.mlp = mlp});
}

}  // namespace

const Architecture mixtral("mixtral", "Mixtral", {"model."}, read_mixtral, build_mixtral,
                           {.ignored = {".rotary_emb.inv_freq"}, .optional = {first_joined_experts}});

}  // namespace vantage::internal
