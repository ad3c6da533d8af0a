// Llama's fields and graph, which several architectures extend.
#pragma once

#include "runtime/models/architecture.h"
#include "runtime/models/config_fields.h"

namespace vantage::internal {

void read_llama(const JsonFields& fields, ModelConfig& config, const FieldDefaults& defaults);
/// use_sliding_window, sliding_window, max_window_layers (Qwen 2 and 3).
void read_qwen_windows(const JsonFields& fields, ModelConfig& config);

/// Queries, keys and values of `x` by head: q [n, H, D], k [n, Hk, D], v [n, Hk, D]. With rotary positions unless the
/// config's rotary_width is 0, or not `turned`.
QKV llama_heads(ModelBuilder& builder, Tensor x, bool turned = true);
/// down(activation(gate(x)) ∘ up(x)), with weights in the scope `name`.
Tensor gated_mlp(ModelBuilder& builder, Tensor x, const std::string& name = "mlp");

/// What other architectures change in Llama's block. x [n, width] is already normalised.
struct LlamaBlock {
    std::function<QKV(std::int64_t layer, Tensor x)> heads = {};   ///< default: llama_heads
    std::function<AttentionOptions()> attention = {};              ///< default: no options
    std::function<Tensor(std::int64_t layer, Tensor x)> mlp = {};  ///< default: gated_mlp
};
void build_llama_with(ModelBuilder& builder, const LlamaBlock& block);
void build_llama(ModelBuilder& builder);

}  // namespace vantage::internal
