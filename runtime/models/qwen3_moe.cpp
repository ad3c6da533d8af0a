// Qwen 3 with a mixture of experts in place of the MLP. Each token uses a few of them.
//   p = softmax(gate(x)), the top_k largest, divided by their sum if norm_topk_prob;  y = Σ p_e expert_e(x)
// Yang et al., "Qwen3 Technical Report" (2025).
#include "runtime/models/gated_experts.h"
#include "runtime/models/llama.h"

namespace vantage::internal {

namespace {

constexpr const char* first_joined = "layers.0.mlp.experts.gate_up_proj";

void read_qwen3_moe(const JsonFields& fields, ModelConfig& c) {
    read_llama(fields, c, {.kv_heads = 4, .context = 32768});
    c.head_norms = true;
    if (fields.optional_flag("use_sliding_window").value_or(false)) fields.fail("use_sliding_window", "false");
    c.inner = fields.optional_integer("moe_intermediate_size", 1, max_width).value_or(768);
    read_experts(fields, c, 128, 8);
    c.own.set("renormalise", fields.optional_flag("norm_topk_prob").value_or(false));
    if (fields.has("mlp_only_layers") && !fields.list("mlp_only_layers").empty())
        fields.fail("mlp_only_layers", "an empty list: all layers have experts");
    if (fields.optional_integer("decoder_sparse_step", 1, max_layers).value_or(1) != 1)
        fields.fail("decoder_sparse_step", "1: all layers have experts");
    c.absent = {first_joined};  // until the checkpoint shows the joined layout
}

void build_qwen3_moe(ModelBuilder& d) {
    const bool joined = d.has(first_joined);
    build_llama_with(d, {.mlp = [&](std::int64_t layer, Tensor x) {
                         const Graph::Scope mlp = d.graph.scope("mlp");
                         return gated_experts(
                             d, layer, x, {.router = "gate", .gate = "gate_proj", .up = "up_proj", .down = "down_proj"},
                             joined, d.config.own.flag("renormalise"));
                     }});
}

}  // namespace

const Architecture qwen3_moe("qwen3_moe", "Qwen3Moe", {"model."}, read_qwen3_moe, build_qwen3_moe,
                             {.ignored = {".rotary_emb.inv_freq"},
                              .optional = {first_joined},
                              .initial = {.padded = {"embed_tokens.weight"}}});

}  // namespace vantage::internal
