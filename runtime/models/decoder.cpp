#include "runtime/models/decoder.h"

#include "shaders/params/step.h"

namespace vantage {

namespace decoder_names {
std::string keys(std::int64_t layer) { return "cache.k." + std::to_string(layer); }
std::string values(std::int64_t layer) { return "cache.v." + std::to_string(layer); }
std::string watched_queries(std::int64_t layer) { return "watch.q." + std::to_string(layer); }
std::string watched_lse(std::int64_t layer) { return "watch.lse." + std::to_string(layer); }
std::string hidden(std::int64_t index) { return "hidden." + std::to_string(index); }
}  // namespace decoder_names

Decoder::Decoder(Graph& g, const ModelConfig& c, const DecoderOptions& o) : graph(g), config(c), options(o) {
    tokens = graph.state(decoder_names::tokens, {options.context}, DType::i32, true);
    step = begin_step(graph.state(decoder_names::step, {STEP_WORDS}, DType::u32, true), options.rows);
}

Tensor Decoder::conv1d(const std::string& name, Tensor x, std::int64_t out) {
    return linear(x, graph.weight(name + ".weight", {x.shape()[-1], out}), graph.weight(name + ".bias", {out}));
}

Tensor Decoder::dense(const std::string& name, Tensor x, std::int64_t out, bool bias) {
    return linear_transposed(x, graph.weight(name + ".weight", {out, x.shape()[-1]}),
                             bias ? graph.weight(name + ".bias", {out}) : Tensor());
}

Tensor Decoder::attend(std::int64_t layer, Tensor q, Tensor k, Tensor v) {
    const Tensor cache =
        graph.state(decoder_names::keys(layer), {options.context, config.kv_heads, config.head_width}, options.cache);
    return attend_cached(layer, q, write(cache, k, step), v);
}

Tensor Decoder::attend_rotated(std::int64_t layer, Tensor q, Tensor k, Tensor v, Tensor table) {
    return attend(layer, rope(q, table, {.step = step}), rope(k, table, {.step = step}), v);
}

Tensor Decoder::attend_cached(std::int64_t layer, Tensor q, Tensor keys, Tensor v) {
    const Tensor cache =
        graph.state(decoder_names::values(layer), {options.context, config.kv_heads, v.shape()[-1]}, options.cache);
    const AttentionResult result =
        attention(q, keys, write(cache, v, step), {.causal = true, .scale = config.scale(layer), .step = step});
    if (const auto i = static_cast<std::size_t>(layer); i < options.watch.size() && options.watch[i]) {
        write(graph.state(decoder_names::watched_queries(layer), {options.context, config.heads, config.head_width},
                          DType::f32),
              q, step);
        write(graph.state(decoder_names::watched_lse(layer), {options.context, config.heads}, DType::f32), result.lse,
              step);
    }
    return graph.reshape(result.o, {options.rows, config.heads * v.shape()[-1]});
}

void Decoder::note_hidden(Tensor x) {
    if (options.hidden && noted_ < config.layers) graph.output(decoder_names::hidden(noted_), x);
    ++noted_;
}

void Decoder::finish(Tensor x, const std::function<Tensor(Tensor)>& norm, const std::function<Tensor(Tensor)>& output) {
    const Tensor seen =
        mark_seen(graph.state(decoder_names::seen, {(config.vocab + 31) / 32}, DType::u32), tokens, step);
    graph.segment("head");
    if (options.all_logits) {
        const Tensor last = norm(x);
        if (options.hidden) graph.output(decoder_names::hidden(config.layers), last);
        graph.output(decoder_names::logits, output(last));
    } else {
        sample(output(norm(last_row(x, step))), tokens, step, seen);
    }
}

Graph build_model(const ModelConfig& config, const DecoderOptions& options, Graph::WeightTypes types) {
    return config.architecture == "gpt2" ? build_gpt2(config, options, std::move(types))
                                         : build_llama(config, options, std::move(types));
}

std::string checkpoint_prefix(const ModelConfig& config) {
    return config.architecture == "gpt2" ? "transformer." : "model.";
}

bool is_ignored_tensor(const ModelConfig& config, const std::string& name) {
    const auto ends_with = [&](const std::string& end) {
        return name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
    };
    if (config.architecture == "gpt2" && (ends_with(".attn.bias") || ends_with(".attn.masked_bias"))) return true;
    if (config.architecture == "llama" && ends_with(".rotary_emb.inv_freq")) return true;
    return config.tied && name == "lm_head.weight";
}

}  // namespace vantage
