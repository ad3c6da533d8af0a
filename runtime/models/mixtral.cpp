// Mixtral: Mistral with a mixture of experts instead of the MLP. Each token uses a few of them.
//   p = softmax(gate(x)), the top_k largest divided by their sum;  y = Σ p_e w2_e(silu(w1_e x) ∘ w3_e x)
// Checkpoints contain w1, w2 and w3 of each expert, or two tensors for all experts with w1 and w3 joined: the layout of
// transformers 5 in memory, saved with save_original_format=False.
// Jiang et al., "Mixtral of Experts" (2024).
#include "runtime/models/gated_experts.h"
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

void build_mixtral(ModelBuilder& d) {
    const bool joined = d.has(first_joined_experts);
    const auto mlp = [&](std::int64_t layer, Tensor x) {
        const Graph::Scope moe = d.graph.scope(joined ? "mlp" : "block_sparse_moe");
        return gated_experts(d, layer, x, {.router = "gate", .gate = "w1", .up = "w3", .down = "w2"}, joined, true);
    };
    build_llama_with(d, {.mlp = mlp});
}

}  // namespace

const Architecture mixtral("mixtral", "Mixtral", {"model."}, read_mixtral, build_mixtral,
                           {.ignored = {".rotary_emb.inv_freq"},
                            .optional = {first_joined_experts},
                            .initial = {.padded = {"embed_tokens.weight"}}});

}  // namespace vantage::internal
