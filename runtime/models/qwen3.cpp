// Qwen 3: Llama with an RMSNorm over the queries and keys of each head before the rotation.
// Yang et al., "Qwen3 Technical Report" (2025); Dehghani et al. 2023 (normalised queries and keys).
#include "runtime/models/llama.h"

namespace vantage::internal {

namespace {

void read_qwen3(const JsonFields& fields, ModelConfig& c) {
    read_llama(fields, c, {.kv_heads = 32, .head_width = 128});
    c.head_norms = true;
    read_qwen_windows(fields, c);
}

}  // namespace

const Architecture qwen3("qwen3", "Qwen3", {"model."}, read_qwen3, build_llama,
                         {.ignored = {".rotary_emb.inv_freq"}, .initial = {.padded = {"embed_tokens.weight"}}});

}  // namespace vantage::internal
