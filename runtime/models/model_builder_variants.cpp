// Variants of attention in any model (AttentionVariant): what takes the place of the softmax of scaled products.
//   linear, performer  Σ_j φ(q_i)·φ(k_j) v_j over Σ_j φ(q_i)·φ(k_j); the cache holds k, or Performer's features of it
//   hard, window, dilated, strided, bigbird  options of the op attention
//   multiplicative  softmax((W q_i)·k_j)
//   additive  softmax(w·tanh(W_q q_i + W_k k_j + b)); the cache holds W_k k + b
//   linformer  softmax(scale q_i·(E k)_j) (F v)_j, E and F the first rows of tables [positions, K]
// Heads of a layer share the weights of a form.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/models/attention_variant.h"
#include "runtime/models/initializers.h"
#include "runtime/models/model_builder.h"

namespace vantage::internal {

ModelBuilder::VariantWeights ModelBuilder::variant_weights(std::int64_t d) {
    VariantWeights all;
    for (const AttentionVariant& variant : config.variants) {
        if (variant.form == AttentionForm::additive) {
            all.query = graph.weight("attention_additive.query.weight", {d, d});
            all.key = graph.weight("attention_additive.key.weight", {d, d});
            all.key_bias = graph.weight("attention_additive.key.bias", {d});
            all.score = graph.weight_f32("attention_additive.score", {d});
        }
        if (variant.form == AttentionForm::multiplicative)
            all.multiplicative = graph.weight("attention_multiplicative.weight", {d, d});
        if (variant.form == AttentionForm::linformer) {
            const std::string name = "attention_linformer." + std::to_string(variant.number);
            const Shape table{config.context, variant.number};
            const Tensor key = graph.weight(name + ".key.weight", table),
                         value = graph.weight(name + ".value.weight", table);
            if (variant == options.variant) all.linformer_key = key, all.linformer_value = value;
        }
    }
    return all;
}

// transformers has none of these: layers as torch initialises them, and Linformer's tables with a deviation of 1/√K, as
// the random projections in the proofs of Wang et al. (2020).
Initializer variant_initializer(const NamedTensor& tensor) {
    const auto has = [&](const char* part) { return tensor.name.find(part) != std::string::npos; };
    if (has("attention_additive.") || has("attention_multiplicative.")) return torch_initializer(tensor.shape[-1]);
    if (has("attention_linformer.")) return normal_initializer(1 / std::sqrt(static_cast<double>(tensor.shape[-1])));
    return {};
}

ModelBuilder::Seen ModelBuilder::attend_linear(std::int64_t layer, Tensor q, Tensor k, Tensor v,
                                               const AttentionOptions& how) {
    CachedLinearAttentionOptions linear{.causal = how.causal};
    if (options.variant.form == AttentionForm::performer) {
        const PerformerOptions features{.features = options.variant.number, .scale = how.scale};
        const PerformerKeys made = performer_key_features(k, features);
        q = performer_query_features(q, features), k = made.shares;
        const std::int64_t keys = k.shape()[0] * k.shape()[1], shares = features.features;
        std::vector<std::int32_t> first;  // of each key's logarithms, which are all the same
        for (std::int64_t key = 0; key < keys; ++key) first.push_back(static_cast<std::int32_t>(key * shares));
        const std::string name = "performer.first." + std::to_string(keys) + "." + std::to_string(shares);
        const Tensor logs = embedding(integers(name, first), graph.reshape(made.log, {keys * shares, 1}));
        const Tensor cache = graph.state(model_names::key_logs(layer, own()),
                                         {options.sequences * options.context, k.shape()[1]}, DType::f32);
        linear.elu = false;
        linear.key_log = by_sequence(write(cache, graph.reshape(logs, {k.shape()[0], k.shape()[1]}), step));
    }
    if (is_quantized(options.cache))
        throw unsupported_error("linear attention does not read a cache in {}", name_of(options.cache));
    const Tensor keys = cached(model_names::keys(layer, own()), k),
                 values = cached(model_names::values(layer, own()), v);
    const CachedLinearAttentionResult result =
        cached_linear_attention(by_sequence(q), by_sequence(keys), by_sequence(values), step, linear);
    return {q, keys, {.o = all_rows(result.o), .lse = all_rows(result.lse)}};
}

// An encoder runs in one piece. Rows of the tables are those of the run's positions, and 0 for its padding, so that
// keys of padding add nothing.
ModelBuilder::Seen ModelBuilder::attend_linformer(Tensor q, Tensor k, Tensor v, const AttentionOptions& how,
                                                  const VariantWeights& weights) {
    std::vector<std::int32_t> positions(static_cast<std::size_t>(options.context));
    std::iota(positions.begin(), positions.end(), 0);
    const Tensor ids = integers("positions.linformer", positions);
    const auto projected = [&](Tensor table, Tensor x) {
        const Tensor rows = embedding(ids, table, {}, {.rows = options.sequences * options.rows, .step = step});
        const Shape shape = by_sequence(x).shape();  // [sequences, n, heads, D]
        const Tensor flat = graph.reshape(x, {shape[0], shape[1], shape[2] * shape[3]});
        return graph.reshape(matmul(by_sequence(rows), flat, {.transpose_a = true}),
                             {shape[0], options.variant.number, shape[2], shape[3]});
    };
    const AttentionResult result = attention(by_sequence(q), projected(weights.linformer_key, k),
                                             projected(weights.linformer_value, v), {.scale = how.scale});
    return {q, k, {.o = all_rows(result.o), .lse = all_rows(result.lse)}};
}

ModelBuilder::Seen ModelBuilder::attend_variant(std::int64_t layer, Tensor q, Tensor k, Tensor v,
                                                AttentionOptions how) {
    const AttentionVariant& variant = options.variant;
    require_allowed(variant, config, how);
    const VariantWeights own_weights = variant_weights(q.shape()[2]);
    switch (variant.form) {
        case AttentionForm::own: break;
        case AttentionForm::linear:
        case AttentionForm::performer: return attend_linear(layer, q, k, v, how);
        case AttentionForm::linformer: return attend_linformer(q, k, v, how, own_weights);
        case AttentionForm::hard: how.hard = true; break;
        case AttentionForm::dilated: how.dilation = variant.number; break;
        case AttentionForm::strided:
            how.stride = variant.number, how.window_left = variant.number - 1;
            if (!how.causal) how.window_right = variant.number - 1;
            break;
        case AttentionForm::window:
            how.window_left = std::min(how.window_left.value_or(variant.number), variant.number - 1);
            if (!how.causal) how.window_right = std::min(how.window_right.value_or(variant.number), variant.number - 1);
            break;
        case AttentionForm::bigbird: {
            const std::int64_t blocks = blocks_of(options.context, variant.number);
            if (!blocks_)
                blocks_ = graph.state(how.causal ? model_names::blocks : model_names::encoder_blocks, {blocks, blocks},
                                      DType::i32);
            how.block_mask = blocks_;
            how.block_size = variant.number;
            break;
        }
        case AttentionForm::multiplicative: q = linear_transposed(q, own_weights.multiplicative), how.scale = 1; break;
        case AttentionForm::additive:
            q = linear_transposed(q, own_weights.query),
            k = linear_transposed(k, own_weights.key, own_weights.key_bias);
            how.additive = own_weights.score;
            break;
    }
    return attend_cached(layer, q, k, v, how);
}

}  // namespace vantage::internal
