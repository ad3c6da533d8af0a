#include "runtime/models/model_builder.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "shaders/params/step.h"

namespace vantage {

namespace model_names {
std::string keys(std::int64_t layer) { return "cache.k." + std::to_string(layer); }
std::string values(std::int64_t layer) { return "cache.v." + std::to_string(layer); }
std::string watched_queries(std::int64_t layer) { return "watch.q." + std::to_string(layer); }
std::string watched_lse(std::int64_t layer) { return "watch.lse." + std::to_string(layer); }
std::string head_mask(std::int64_t layer) { return "head_mask." + std::to_string(layer); }
std::string router(std::int64_t layer) { return "router." + std::to_string(layer); }
std::string hidden(std::int64_t index) { return "hidden." + std::to_string(index); }
}  // namespace model_names

ModelBuilder::ModelBuilder(Graph& g, const ModelConfig& c, const BuildOptions& o) : graph(g), config(c), options(o) {
    tokens = graph.state(model_names::tokens, {options.context}, DType::i32, true);
    step = begin_step(graph.state(model_names::step, {STEP_WORDS}, DType::u32, true), options.rows);
}

Tensor ModelBuilder::embed(Tensor table, Tensor positions, std::int64_t position_offset, double factor) {
    return embedding(tokens, table, positions,
                     {.scale = factor, .position_offset = position_offset, .rows = options.rows, .step = step});
}

Tensor ModelBuilder::positions(Tensor table, std::int64_t offset) {
    std::vector<std::int32_t> ids(
        static_cast<std::size_t>(options.context));  // of a sequence whose ids are its positions
    std::iota(ids.begin(), ids.end(), static_cast<std::int32_t>(offset));
    const auto bytes = std::as_bytes(std::span(ids));
    const Tensor places =
        graph.constant("positions", {options.context}, DType::i32, std::vector<std::byte>(bytes.begin(), bytes.end()));
    return embedding(places, table, {}, {.rows = options.rows, .step = step});
}

Tensor ModelBuilder::type_embedding(Tensor table) {
    const Tensor types = graph.state(model_names::types, {options.context}, DType::i32, true);
    return embedding(types, table, {}, {.rows = options.rows, .step = step});
}

Tensor ModelBuilder::first_row(Tensor x) {
    return embedding(graph.constant("first", {1}, DType::i32, std::vector<std::byte>(4)), x);
}

Tensor ModelBuilder::conv1d(const std::string& name, Tensor x, std::int64_t out) {
    return linear(x, graph.weight(name + ".weight", {x.shape()[-1], out}), graph.weight(name + ".bias", {out}));
}

Tensor ModelBuilder::dense(const std::string& name, Tensor x, std::int64_t out, bool bias) {
    return linear_transposed(x, graph.weight(name + ".weight", {out, x.shape()[-1]}),
                             bias ? graph.weight(name + ".bias", {out}) : Tensor());
}

Tensor ModelBuilder::layer_norm(const std::string& name, Tensor x) {
    const Shape row{x.shape()[-1]};
    return vantage::layer_norm(x, graph.weight(name + ".weight", row), graph.weight(name + ".bias", row),
                               config.norm_eps);
}

Tensor ModelBuilder::rms_norm(const std::string& name, Tensor x, double weight_offset) {
    return vantage::rms_norm(x, graph.weight(name + ".weight", {x.shape()[-1]}), config.norm_eps, weight_offset);
}

Tensor ModelBuilder::heads(Tensor x, std::int64_t count) {
    return graph.reshape(x, {options.rows, count, x.shape()[-1] / count});
}

// LongRoPE has factors for contexts beyond the one that it was first trained with; the whole sequence takes one kind.
Tensor ModelBuilder::rotate(Tensor x) {
    RopeScaling scaling = config.rope_scaling;
    if (!config.rope_long_factors.empty() && std::max(options.context, options.rope_context) > scaling.original_context)
        scaling.factors = config.rope_long_factors;
    const Tensor table = rope_table(graph, options.context, config.rotary_width, config.rope_theta, scaling);
    return rope(x, table, {.interleaved = config.rope_interleaved, .step = step});
}

Tensor ModelBuilder::attend(std::int64_t layer, Tensor q, Tensor k, Tensor v, AttentionOptions how) {
    const auto cached = [&](const std::string& name, Tensor rows) {
        return write(graph.state(name, {options.context, config.kv_heads, rows.shape()[-1]}, options.cache), rows,
                     step);
    };
    const AttentionOptions usual = config.attention(layer);
    how.causal = usual.causal, how.scale = usual.scale, how.softcap = usual.softcap;
    how.window_left = usual.window_left;
    how.step = step;
    const AttentionResult result =
        attention(q, cached(model_names::keys(layer), k), cached(model_names::values(layer), v), how);
    if (const auto i = static_cast<std::size_t>(layer); i < options.watch.size() && options.watch[i]) {
        write(graph.state(model_names::watched_queries(layer), {options.context, config.heads, config.head_width},
                          DType::f32),
              q, step);
        write(graph.state(model_names::watched_lse(layer), {options.context, config.heads}, DType::f32), result.lse,
              step);
    }
    return masked(layer, graph.reshape(result.o, {options.rows, config.heads * v.shape()[-1]}));
}

Tensor ModelBuilder::masked(std::int64_t layer, Tensor heads) {
    if (!options.head_mask) return heads;
    return heads * graph.state(model_names::head_mask(layer), {heads.shape()[-1]}, DType::f32, true);
}

void ModelBuilder::note_router(std::int64_t layer, Tensor logits) {
    if (options.hidden) graph.output(model_names::router(layer), logits);
}

void ModelBuilder::note_hidden(Tensor x) {
    if (options.hidden && noted_ < config.layers) graph.output(model_names::hidden(noted_), x);
    ++noted_;
}

void ModelBuilder::finish(Tensor x, const std::function<Tensor(Tensor)>& norm,
                          const std::function<Tensor(Tensor)>& out) {
    const Tensor seen = mark_seen(graph.state(model_names::seen, {(config.vocab + 31) / 32}, DType::u32), tokens, step);
    graph.segment("head");
    const auto logits = [&](Tensor normed) {
        const Tensor raw = out(normed);
        return config.logit_softcap > 0 ? softcap(raw, config.logit_softcap) : raw;
    };
    if (options.all_logits) {
        const Tensor last = norm(x);
        if (options.hidden) graph.output(model_names::hidden(config.layers), last);
        graph.output(model_names::logits, logits(last));
    } else {
        sample(logits(norm(last_row(x, step))), tokens, step, seen);
    }
}

void ModelBuilder::finish_encoder(Tensor x) {
    graph.segment("head");
    graph.output(model_names::hidden(config.layers), x);
}

Tensor ModelBuilder::output(Tensor x, Tensor embedding, const std::string& name, bool bias) {
    if (config.tied)
        return linear_transposed(x, embedding, bias ? graph.weight(name + ".bias", {config.vocab}) : Tensor());
    return dense(name, x, config.vocab, bias);
}

}  // namespace vantage
