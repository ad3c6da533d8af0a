// Longformer: RoBERTa with a window around each token instead of all tokens, and a few tokens that see all and are seen
// by all.
//   a token's row: softmax over |i - j| ≤ w / 2 and the global tokens;  a global token's: softmax over all tokens, with
//   queries, keys and values by projections of their own
// Global are the first tokens of a sequence: SessionOptions::global_tokens, else one where the model classifies (what it
// answers from) and none where it does not. Those of SessionOptions::global_positions may lie anywhere: a table of
// queries and keys takes the window's place.
// Beltagy, Peters, Cohan, "Longformer: The Long-Document Transformer" (2020).
#include <algorithm>

#include "runtime/models/roberta.h"

namespace vantage::internal {

namespace {

void read_longformer(const JsonFields& fields, ModelConfig& c) {
    read_roberta_fields(fields, c);
    if (c.own.flag("relative_keys")) fields.fail("position_embedding_type", "\"absolute\"");
    const bool listed = fields.has("attention_window") && fields.json().at("attention_window").is_array();
    std::vector<std::int64_t> windows = fields.integers("attention_window", 2, max_context);
    if (!listed) windows.assign(static_cast<std::size_t>(c.layers), windows.empty() ? 512 : windows.front());
    if (std::ssize(windows) != c.layers) fields.fail("attention_window", "a number, or one for each layer");
    for (const std::int64_t window : windows) {
        if (window % 2 != 0) fields.fail("attention_window", "even numbers: half before a token, half behind");
        c.windows.push_back(window / 2 + 1);
    }
    c.own.set("global_tokens", std::int64_t{c.head == Head::classification ? 1 : 0});
}

Tensor longformer_attention(ModelBuilder& d, std::int64_t layer, Tensor x) {
    const ModelConfig& c = d.config;
    const std::int64_t count = d.options.global_tokens.value_or(c.own.integer("global_tokens")),
                       own = std::clamp<std::int64_t>(count, 1, d.options.rows);
    const auto heads = [&](const std::string& name, Tensor rows) {
        return d.heads(d.dense("attention.self." + name, rows, c.width, true), c.heads);
    };
    // sessions load these, whether this run has global tokens or not; what is trained must be read
    const std::vector<std::int64_t>& positions = d.options.global_positions;
    const bool uses = count > 0 || !positions.empty();
    QKV global;
    if (uses || !d.trains()) {
        const Tensor rows = positions.empty() ? d.first_rows(x, own) : d.rows_at(x, positions);
        global = {heads("query_global", rows), heads("key_global", x), heads("value_global", x)};
    }
    return d.attend(layer, heads("query", x), heads("key", x), heads("value", x),
                    {.global_tokens = positions.empty() ? count : 0}, uses ? global : QKV{});
}

void build_longformer(ModelBuilder& d) {
    build_roberta_with(d, [&](std::int64_t layer, Tensor x) { return longformer_attention(d, layer, x); });
}

}  // namespace

const Architecture longformer("longformer", "Longformer", {"longformer."}, read_longformer, build_longformer,
                              {.bare = {"lm_head.", "classifier.", "qa_outputs."},
                               .ignored = roberta_ignored,
                               .optional = roberta_optional,
                               .positions = roberta_positions,
                               .initial = roberta_initial});

}  // namespace vantage::internal
