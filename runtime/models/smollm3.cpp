// SmolLM 3: Llama without rotary positions in every few layers.
// Bakouch et al., "SmolLM3" (2025); Yang et al., "Rope to Nope and Back Again" (2025).
#include <algorithm>

#include "runtime/base/at.h"
#include "runtime/base/format.h"
#include "runtime/models/llama.h"

namespace vantage::internal {

namespace {

// Layer i has rotary positions unless i + 1 is a multiple of the interval; so has the list, which has 1 for those.
void read_smollm3(const JsonFields& fields, ModelConfig& c) {
    read_llama(fields, c, {.kv_heads = 4, .context = 32768, .rope_theta = 2e6, .tied = true});
    if (fields.optional_flag("use_sliding_window").value_or(false)) fields.fail("use_sliding_window", "false");
    std::int64_t interval = fields.optional_integer("no_rope_layer_interval", 1, max_layers).value_or(4);
    if (fields.has("no_rope_layers")) {
        const std::vector<std::int64_t> turned = fields.integers("no_rope_layers", 0, 1);
        interval = std::ranges::find(turned, 0) - turned.begin() + 1;
        for (std::int64_t i = 0; i < c.layers; ++i)
            if (std::ssize(turned) != c.layers || at(turned, i) != ((i + 1) % interval != 0 ? 1 : 0))
                fields.fail("no_rope_layers", format("{} numbers, 0 for every {}. of them", c.layers, interval));
    }
    c.own.set("no_rope_interval", interval);
}

void build_smollm3(ModelBuilder& d) {
    const std::int64_t interval = d.config.own.integer("no_rope_interval");
    build_llama_with(d, {.heads = [&d, interval](std::int64_t layer, Tensor x) {
                         return llama_heads(d, x, (layer + 1) % interval != 0);
                     }});
}

}  // namespace

const Architecture smollm3("smollm3", "SmolLM3", {"model."}, read_smollm3, build_smollm3,
                           {.ignored = {".rotary_emb.inv_freq"},
                            .initial = {.padding = 128004, .padded = {"embed_tokens.weight"}}});

}  // namespace vantage::internal
