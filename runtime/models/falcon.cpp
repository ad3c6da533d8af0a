// Falcon: projections packed by key head, attention and MLP in parallel, rotary positions or ALiBi.
//   x += attention(ln_a(x)) + mlp(ln_m(x)), with two norms, with one, or sequential
// Almazrouei et al., "The Falcon Series of Open Language Models" (2023).
#include <cmath>

#include "runtime/base/quantize.h"
#include "runtime/models/architecture.h"
#include "runtime/models/config_fields.h"

namespace vantage::internal {

namespace {

void read_falcon(const JsonFields& fields, ModelConfig& c) {
    read_block_sizes(fields, c, {"num_hidden_layers", "n_layer"}, {"hidden_size"}, {"num_attention_heads", "n_head"});
    c.vocab = fields.integer("vocab_size", 1, max_vocab);
    c.context = fields.optional_integer("max_position_embeddings", 1, max_context).value_or(2048);
    c.inner = fields.optional_integer("ffn_hidden_size", 1, max_width).value_or(4 * c.width);
    c.norm_eps = fields.optional_number("layer_norm_epsilon", 0, 1).value_or(1e-5);
    c.activation = read_activation(fields, "activation", "gelu");
    c.tied = read_tied(fields, true);
    const auto flag = [&](const char* key, bool default_value) {
        return fields.optional_flag(key).value_or(default_value);
    };
    const bool grouped = flag("new_decoder_architecture", false);
    const char* kv_heads_key = one_key(fields, {"num_kv_heads", "n_head_kv"});
    c.kv_heads = grouped ? fields.optional_integer(kv_heads_key, 1, max_heads).value_or(c.heads)
                         : (flag("multi_query", true) ? 1 : c.heads);
    require_divides(fields, one_key(fields, {"num_attention_heads", "n_head"}), c.heads, kv_heads_key, c.kv_heads);
    c.qkv_bias = c.attention_out_bias = c.mlp_bias = flag("bias", false);
    c.parallel = grouped || flag("parallel_attn", true);
    c.own.set("two_norms", grouped && fields.optional_integer("num_ln_in_parallel_attn", 1, 2).value_or(2) == 2);
    c.own.set("alibi", flag("alibi", false));
    if (!c.own.flag("alibi")) read_rope(fields, c);
}

// ALiBi as in Falcon's training: slope, key position and their product are rounded to bfloat16, and divided by √D like
// the scores. It is computed per key, because equal distances round differently.
std::vector<float> rounded_alibi(std::int64_t heads, std::int64_t keys, double scale) {
    const auto rounded = [](float x) { return bfloat_to_float(float_to_bfloat(x)); };
    const std::vector<float> slopes = alibi_slopes(heads);
    std::vector<float> table;
    for (std::int64_t j = 0; j < keys; ++j)
        for (const float slope : slopes)
            table.push_back(static_cast<float>(scale) * rounded(rounded(slope) * rounded(static_cast<float>(j))));
    return table;
}

Tensor attention_of(ModelBuilder& d, std::int64_t layer, Tensor y) {
    const ModelConfig& c = d.config;
    const Tensor packed =
        d.dense("self_attention.query_key_value", y, (c.heads + 2 * c.kv_heads) * c.head_width, c.qkv_bias);
    QKV heads = split_qkv(packed, c.heads, c.kv_heads, true);
    AttentionOptions more;
    if (c.own.flag("alibi"))
        more.key_bias = d.graph.constant("alibi", {d.options.context, c.heads}, [c, keys = d.options.context] {
            return rounded_alibi(c.heads, keys, 1 / std::sqrt(static_cast<double>(c.head_width)));
        });
    else
        heads.q = d.rotate(heads.q), heads.k = d.rotate(heads.k);
    return d.dense("self_attention.dense", d.attend(layer, heads.q, heads.k, heads.v, more), c.width,
                   c.attention_out_bias);
}

void build_falcon(ModelBuilder& d) {
    const ModelConfig& c = d.config;
    const bool two_norms = c.own.flag("two_norms");
    const Tensor embed = d.graph.weight("word_embeddings.weight", {c.vocab, c.width});
    const Tensor last = d.blocks("h", d.embed(embed), [&](std::int64_t layer, Tensor x) {
        const Tensor y = d.layer_norm(two_norms ? "ln_attn" : "input_layernorm", x);
        const Tensor after = x + d.drop(attention_of(d, layer, y));
        const Tensor z = two_norms    ? d.layer_norm("ln_mlp", x)
                         : c.parallel ? y
                                      : d.layer_norm("post_attention_layernorm", after);
        const Tensor inner = activate(d.dense("mlp.dense_h_to_4h", z, c.inner, c.mlp_bias), c.activation);
        return after + d.drop(d.dense("mlp.dense_4h_to_h", inner, c.width, c.mlp_bias));
    });
    d.finish(last, "ln_f", embed);
}

}  // namespace

const Architecture falcon("falcon", "Falcon", {"transformer."}, read_falcon, build_falcon,
                          {.ignored = {".rotary_emb.inv_freq"}});

}  // namespace vantage::internal
