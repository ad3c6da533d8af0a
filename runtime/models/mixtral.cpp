// Mixtral: Mistral with a mixture of experts in place of the MLP; each token goes to a few of them.
//   p = softmax(gate(x)), the top_k largest divided by their sum;  y = Σ p_e w2_e(silu(w1_e x) ∘ w3_e x)
// Jiang et al., "Mixtral of Experts" (2024); Shazeer et al., "Outrageously Large Neural Networks" (2017).
#include "runtime/models/llama.h"

namespace vantage {

namespace {

void read_mixtral(const JsonFields& fields, ModelConfig& c) {
    read_llama(fields, c, {.kv_heads = 8, .norm_eps = 1e-5, .rope_theta = 1e6});
    read_experts(fields, c, 8, 2);
    read_windows(fields, c, read_window(fields, 0), [](std::int64_t) { return true; });
}

void build_mixtral(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    const auto mlp = [&](std::int64_t layer, Tensor x) {
        const Graph::Scope moe = d.graph.scope("block_sparse_moe");
        const Tensor logits = d.dense("gate", x, c.experts, false);
        d.note_router(layer, logits);
        const auto experts = [&](const char* name, Shape shape) {
            return d.graph.stacked_weights("experts", name, c.experts, shape);
        };
        return mixture_of_experts(x, route(logits, c.experts_per_token, true, d.step),
                                  {.gate = experts("w1.weight", {c.inner, c.width}),
                                   .up = experts("w3.weight", {c.inner, c.width}),
                                   .down = experts("w2.weight", {c.width, c.inner})},
                                  {.gating = {.activation = c.activation}});
    };
    build_llama_with(d, {.mlp = mlp});
}

}  // namespace

extern const Architecture mixtral;
const Architecture mixtral = {.name = "mixtral",
                              .class_begin = "Mixtral",
                              .prefixes = {"model."},
                              .read = read_mixtral,
                              .build = build_mixtral,
                              .ignored = {".rotary_emb.inv_freq"}};

}  // namespace vantage
