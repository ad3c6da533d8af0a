// Mistral: Llama with sliding-window attention in every layer, i - window < j ≤ i. Jiang et al., "Mistral 7B" (2023).
#include "runtime/models/llama.h"

namespace vantage::internal {

namespace {

void read_mistral(const JsonFields& fields, ModelConfig& c) {
    read_llama(fields, c, {.kv_heads = 8});
    read_windows(fields, c, read_window(fields, 4096), [](std::int64_t) { return true; });
}

}  // namespace

const Architecture mistral("mistral", "Mistral", {"model."}, read_mistral, build_llama,
                           {.ignored = {".rotary_emb.inv_freq"}, .initial = {.padded = {"embed_tokens.weight"}}});

}  // namespace vantage::internal
