// Mistral: Llama that sees a window of keys in every layer, i - window < j ≤ i. Jiang et al., "Mistral 7B" (2023).
#include "runtime/models/llama.h"

namespace vantage {

extern const Architecture mistral;
const Architecture mistral = {
    .name = "mistral",
    .class_begin = "Mistral",
    .prefixes = {"model."},
    .read =
        [](const JsonFields& fields, ModelConfig& c) {
            read_llama(fields, c, {.kv_heads = 8});
            // null says that there is none; a file that does not say has the paper's
            const std::int64_t usual = fields.json().contains("sliding_window") ? 0 : 4096;
            read_windows(fields, c, fields.optional_integer("sliding_window", 1, most_context).value_or(usual),
                         [](std::int64_t) { return true; });
        },
    .build = build_llama,
    .ignored = {".rotary_emb.inv_freq"}};

}  // namespace vantage
