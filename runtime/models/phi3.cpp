// Phi-3: Llama with queries, keys and values in one projection, gate and up in another, and LongRoPE.
// Abdin et al., "Phi-3 Technical Report" (2024); Ding et al., "LongRoPE" (2024).
#include "runtime/models/llama.h"

namespace vantage::internal {

namespace {

void read_phi3(const JsonFields& fields, ModelConfig& c) {
    read_llama(fields, c, {.context = 4096, .norm_eps = 1e-5});
    read_windows(fields, c, read_window(fields, 0), [](std::int64_t) { return true; });
}

void build_phi3(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    build_llama_with(
        d, {.heads =
                [&](std::int64_t, Tensor x) {
                    const std::int64_t width = (c.heads + 2 * c.kv_heads) * c.head_width;
                    const QKV heads = split_qkv(d.dense("self_attn.qkv_proj", x, width, false), c.heads, c.kv_heads);
                    return QKV{d.rotate(heads.q), d.rotate(heads.k), heads.v};
                },
            .mlp =
                [&](std::int64_t, Tensor x) {
                    const Tensor gate_up = d.dense("mlp.gate_up_proj", x, 2 * c.inner, false);
                    return d.dense("mlp.down_proj", swiglu(gate_up, {}, {.activation = c.activation}), c.width, false);
                }});
}

}  // namespace

const Architecture phi3("phi3", "Phi3", {"model."}, read_phi3, build_phi3,
                        {.ignored = {".rotary_emb.inv_freq"},
                         .initial = {.padding = 32000, .padded = {"embed_tokens.weight"}}});

}  // namespace vantage::internal
