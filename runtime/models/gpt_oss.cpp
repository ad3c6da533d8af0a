// gpt-oss: Llama's block with attention sinks, a sliding window in every other layer, YaRN, biases, and experts whose
// gate and up rows alternate in one matrix and are clamped.
//   expert(x) = W_d ((up + 1) ∘ gate σ(1.702 gate)) + b,  gate ≤ 7, |up| ≤ 7
// OpenAI, "gpt-oss-120b & gpt-oss-20b Model Card" (2025); Xiao et al., "Attention Sinks" (2023); Peng et al., "YaRN"
// (2023).
#include "runtime/models/llama.h"

namespace vantage::internal {

namespace {

void read_gpt_oss(const JsonFields& fields, ModelConfig& c) {
    c.rope_scaling = {.type = "yarn", .factor = 32, .original_context = 4096, .truncate = false};
    read_llama(
        fields, c,
        {.kv_heads = 8, .head_width = 64, .inner = 2880, .context = 131072, .norm_eps = 1e-5, .rope_theta = 150000});
    c.qkv_bias = c.attention_out_bias = fields.optional_flag("attention_bias").value_or(true);
    read_experts(fields, c, 128, 4);
    constexpr double alpha = 1.702;  // of quick_gelu
    if (fields.optional_number("swiglu_alpha", 0, 1e6).value_or(alpha) != alpha) fields.fail("swiglu_alpha", "1.702");
    c.own.set("swiglu_limit", fields.optional_number("swiglu_limit", 1e-3, 1e6).value_or(7));
    read_windows(fields, c, read_window(fields, 128), [](std::int64_t layer) { return layer % 2 == 0; });
}

Tensor experts(ModelBuilder& d, std::int64_t layer, Tensor x) {
    const ModelConfig& c = d.config;
    const Graph::Scope mlp = d.graph.scope("mlp");
    const Tensor logits = d.dense("router", x, c.experts, true);
    d.note_router(layer, logits);
    const auto weight = [&](const char* name, Shape shape) { return d.graph.weight(name, shape); };
    return mixture_of_experts(x, route(logits, c.experts_per_token, true, d.step),
                              {.gate = weight("experts.gate_up_proj", {c.experts, c.width, 2 * c.inner}),
                               .up = {},
                               .down = weight("experts.down_proj", {c.experts, c.inner, c.width}),
                               .gate_bias = weight("experts.gate_up_proj_bias", {c.experts, 2 * c.inner}),
                               .down_bias = weight("experts.down_proj_bias", {c.experts, c.width})},
                              {.gating = {.activation = Activation::quick_gelu,
                                          .interleaved = true,
                                          .limit = c.own.number("swiglu_limit"),
                                          .up_offset = 1},
                               .transposed = false});
}

void build_gpt_oss(ModelBuilder& d) {
    const auto sinks = [&] { return d.graph.weight_f32("self_attn.sinks", {d.config.heads}); };
    build_llama_with(d, {.attention = [&] { return AttentionOptions{.sinks = sinks()}; },
                         .mlp = [&](std::int64_t layer, Tensor x) { return experts(d, layer, x); }});
}

Initializer initial_gpt_oss(const ModelConfig& c, const NamedTensor& tensor) {
    return tensor.ends_with({"router.bias", "sinks"}) ? normal_initializer(c.initializer_range)
                                                      : default_initializer(c, tensor);
}

}  // namespace

const Architecture gpt_oss("gpt_oss", "GptOss", {"model."}, read_gpt_oss, build_gpt_oss,
                           {.initial = {.padded = {"embed_tokens.weight"}, .rule = initial_gpt_oss}});

}  // namespace vantage::internal
