// Qwen 2: Llama with biases on queries, keys and values, and optional sliding windows in the upper layers.
// Yang et al., "Qwen2 Technical Report" (2024).
#include "runtime/models/llama.h"

namespace vantage::internal {

void read_qwen_windows(const JsonFields& fields, ModelConfig& c) {
    if (!fields.optional_flag("use_sliding_window").value_or(false)) return;
    const std::int64_t first = fields.optional_integer("max_window_layers", 0, max_layers).value_or(28);
    read_windows(fields, c, read_window(fields, 4096), [first](std::int64_t layer) { return layer >= first; });
}

namespace {

void read_qwen2(const JsonFields& fields, ModelConfig& c) {
    read_llama(fields, c, {.kv_heads = 32});
    c.qkv_bias = true;
    c.attention_out_bias = false;
    read_qwen_windows(fields, c);
}

}  // namespace

const Architecture qwen2("qwen2", "Qwen2", {"model."}, read_qwen2, build_llama,
                         {.ignored = {".rotary_emb.inv_freq"}, .initial = {.padded = {"embed_tokens.weight"}}});

}  // namespace vantage::internal
