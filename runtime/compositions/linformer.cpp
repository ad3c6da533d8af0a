// Linformer: softmax(scale q (E k)ᵀ) (F v) with E and F [K, m], so that n K scores are computed and not n m.
// Wang, Li, Khabsa, Fang, Ma, "Linformer: Self-Attention with Linear Complexity" (2020). A projected key mixes all
// tokens: none can be hidden, and none has a position, so it is for encoders.
#include "runtime/base/errors.h"
#include "vantage/ops.h"

namespace vantage {

namespace {

// The first option that speaks of single keys, nullptr without one.
const char* option_by_key(const AttentionOptions& o) {
    if (o.causal) return "causal";
    if (o.window_left || o.window_right) return "a window";
    if (o.dilation != 1) return "dilation";
    if (o.stride != 0) return "a stride";
    if (o.global_tokens != 0) return "global_tokens";
    if (o.prefix_len != 0) return "prefix_len";
    if (o.block_mask || o.block_size != 0) return "block_mask";
    if (o.segment_ids) return "segment_ids";
    if (o.step) return "step";
    if (o.kv_len) return "kv_len";
    if (o.mask) return "mask";
    if (o.alibi_slopes) return "alibi_slopes";
    if (o.distance_bias) return "distance_bias";
    if (o.key_bias) return "key_bias";
    if (o.relative_keys || o.relative_queries) return "relative_keys";
    if (o.additive) return "additive";
    return o.relative_values ? "relative_values" : nullptr;
}

// [.., m, H, D] → [.., K, H, D], or with the heads in front.
Tensor projected(const char* name, Tensor x, Tensor weight, bool heads_first, SourceLocation where) {
    Graph g = x.graph();
    Shape shape = x.shape();
    const int tokens = heads_first ? -2 : -3;
    const TensorType& type = weight.type();
    if (shape.rank() < 3 || type.shape.rank() != 2 || type.shape[1] != shape[tokens])
        throw Error(ErrorKind::usage,
                    std::string("linformer_attention: the projection of ") + name + " is " + type.text() + " and " +
                        name + " " + x.type().text() + ", but it must be [K, tokens]",
                    where);
    if (heads_first) return matmul(weight, x, {}, {}, {}, where);
    Shape flat =
        shape.rank() == 4 ? Shape{shape[0], shape[1], shape[2] * shape[3]} : Shape{shape[0], shape[1] * shape[2]};
    shape[tokens] = type.shape[0];
    return g.reshape(matmul(weight, g.reshape(x, flat), {}, {}, {}, where), shape);
}

}  // namespace

AttentionResult linformer_attention(Tensor q, Tensor k, Tensor v, LinformerWeights weights,
                                    const AttentionOptions& options, SourceLocation where) {
    if (const char* option = option_by_key(options))
        throw Error(ErrorKind::usage,
                    std::string("linformer_attention: ") + option +
                        " is set, but each projected key mixes all tokens, none of which can be hidden or placed; "
                        "Linformer is for encoders: leave it out, or use attention",
                    where);
    return attention(q, projected("k", k, weights.key, options.heads_first, where),
                     projected("v", v, weights.value ? weights.value : weights.key, options.heads_first, where),
                     options, where);
}

}  // namespace vantage
