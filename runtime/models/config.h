// What a model folder's config.json says, for every architecture in one struct: the builders read what concerns them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vantage/ops.h"

namespace vantage {

struct ModelConfig {
    std::string architecture;  ///< "gpt2", "llama"
    std::int64_t layers = 0, width = 0, heads = 0, kv_heads = 0, head_width = 0, inner = 0, vocab = 0;
    std::int64_t context = 0;  ///< positions that the model allows
    double norm_eps = 1e-5;
    Activation activation = Activation::gelu_tanh;
    bool tied = true;  ///< the output layer is the embedding
    bool attention_bias = false, mlp_bias = false;
    double rope_theta = 10000;
    RopeScaling rope_scaling;
    double attention_scale = 0;   ///< of q·k; 0 = 1/sqrt(head_width)
    bool scale_by_layer = false;  ///< divided by layer + 1, too (GPT-2's scale_attn_by_inverse_layer_idx)
    std::vector<std::int64_t> end_tokens;

    double scale(std::int64_t layer) const;
    /// Sampling that generation_config.json recommends; 0 and 1 mean "not said".
    double temperature = 0, top_p = 1, repetition_penalty = 1;
    std::int64_t top_k = 0;
};

/// Reads config.json as transformers 4 or 5 write it. Throws bad_file naming the field: sizes that make no model (zero,
/// negative, huge, heads that do not divide), and architectures and options that are not built.
ModelConfig parse_model_config(std::string_view json, const std::string& name);
/// Adds what generation_config.json says: end tokens and sampling defaults.
void apply_generation_config(ModelConfig& config, std::string_view json, const std::string& name);

}  // namespace vantage
