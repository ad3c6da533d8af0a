// What a session tells of its attention: weights of any head by the tap, log-sum-exps, the replay where a layer was not watched.
#include <algorithm>

#include "runtime/base/fallback.h"
#include "runtime/base/log.h"
#include "runtime/gpu/transfer.h"
#include "runtime/ops/attention.h"
#include "runtime/session/session_state.h"

namespace vantage {

// What the weights of a layer's rows are made from, by the name of the keys that these rows look at.
TapSource Session::State::tap_source(std::int64_t layer, AttentionKind kind, const std::string& keys) {
    const Graph& graph = graph_of(kind);
    const auto tensor = [&](const Value& value) {
        return TapSource::Data{bindings->buffers.at(value.name), value.type};
    };
    TapSource tapped;
    for (const Value& value : graph.values()) {
        if (value.kind != ValueKind::state) continue;
        if (value.name == model_names::recorded_queries(layer, kind)) tapped.q = tensor(value);
        if (value.name == model_names::recorded_lse(layer, kind)) tapped.lse = tensor(value);
        if (value.name == keys) tapped.k = tensor(value);
        if (value.name == model_names::values(layer, kind)) tapped.v = tensor(value);
    }
    for (const Node& node : graph.nodes()) {
        if (node.op != &attention_op) continue;
        if (graph.value(graph.storage(node.inputs[ops::attention::k_])).name != keys) continue;
        tapped.attrs = node.attrs;
        tapped.sinks = node.inputs[ops::attention::sinks_] >= 0;
        if (const int bias = node.inputs[ops::attention::position_bias_]; bias >= 0)
            tapped.position_bias = tensor(graph.value(graph.storage(bias)));
    }
    return tapped;
}

// How many of the first rows look at keys of their own.
std::int64_t Session::State::global_rows(std::int64_t layer) const {
    if (bindings->buffers.count(model_names::global_keys(layer)) == 0) return 0;
    return options.global_tokens.value_or(model.config().own.integer("global_tokens"));
}

// All that has run, once more in a session that watches `layer`.
Session& Session::State::replay_recording(std::int64_t layer) {
    const auto ran = std::span(sequence.tokens).first(static_cast<std::size_t>(sequence.processed));
    if (replay && replay->state_->options.record_attention.includes(layer) && std::ranges::equal(replay->tokens(), ran))
        return *replay;
    fall_back(format("layer %lld was not watched: the sequence of %lld tokens is replayed to see its attention",
                     static_cast<long long>(layer), static_cast<long long>(sequence.processed)));
    SessionOptions recording = options;
    recording.record_attention = {.layers = {layer}}, recording.inspect = recording.profile = false;
    recording.rope_context = std::max(context, options.rope_context);
    recording.context =
        std::max(sequence.processed,
                 std::ssize(sequence.source));  // a context that was chosen to fill the memory would not fit twice
    replay.reset();                             // its memory first
    replay = std::make_unique<Session>(model, recording);
    if (is_encoder_decoder()) {
        replay->set_source(sequence.source);
        replay->rewind(0);
    }
    if (is_vision())
        replay->set_image(pixels);
    else
        replay->append(ran, std::span(sequence.types).first(ran.size()));
    replay->run();
    return *replay;
}

void Session::State::check_head(std::int64_t layer, std::int64_t head, AttentionKind kind) const {
    const ModelInfo& info = model.info();
    const std::int64_t layers = info.layers_of(kind), heads = info.heads_of(kind);
    if (layers == 0)
        throw Error(ErrorKind::usage, "attention: " + info.name + " (" + info.architecture +
                                          ") is no encoder–decoder: its attention is its own");
    if (layer < 0 || layer >= layers)
        throw Error(ErrorKind::usage, format("attention: layer %lld is outside of 0 … %lld",
                                             static_cast<long long>(layer), static_cast<long long>(layers - 1)));
    if (head < 0 || head >= heads)
        throw Error(ErrorKind::usage, format("attention: head %lld is outside of 0 … %lld",
                                             static_cast<long long>(head), static_cast<long long>(heads - 1)));
}

void Session::State::check_positions(std::int64_t first, std::int64_t count, std::int64_t ran, const char* what) const {
    if (first < 0 || count < 0 || first > ran || count > ran - first)
        throw Error(
            ErrorKind::usage,
            format("attention: %lld %s from %lld on are not inside of the %lld positions that have run",
                   static_cast<long long>(count), what, static_cast<long long>(first), static_cast<long long>(ran)));
}

TapSource Session::tap_source(std::int64_t layer, AttentionKind kind) const {
    State& s = *state_;
    s.check_head(layer, 0, kind);
    if (!s.options.record_attention.includes(layer))
        throw Error(ErrorKind::usage, format("attention: layer %lld is not watched (SessionOptions::record_attention)",
                                             static_cast<long long>(layer)));
    return s.tap_source(layer, kind, model_names::keys(layer, kind));
}

std::vector<float> Session::attention(std::int64_t layer, std::int64_t head, std::int64_t first_row, std::int64_t rows,
                                      std::int64_t first_key, std::int64_t keys, AttentionKind kind) {
    State& s = *state_;
    s.check_head(layer, head, kind);
    s.check_positions(first_row, rows, s.queries_of(kind), "rows");
    s.check_positions(first_key, keys, s.keys_of(kind), "keys");
    if (rows == 0 || keys == 0) return {};
    s.settle();
    if (!s.options.record_attention.includes(layer))
        return s.replay_recording(layer).attention(layer, head, first_row, rows, first_key, keys, kind);
    const std::int64_t own = std::clamp<std::int64_t>(s.global_rows(layer) - first_row, 0, rows);
    std::vector<float> p = s.tap.weights(s.tap_source(layer, kind, model_names::global_keys(layer)), head, first_row,
                                         own, first_key, keys);
    const std::vector<float> others = s.tap.weights(s.tap_source(layer, kind, model_names::keys(layer, kind)), head,
                                                    first_row + own, rows - own, first_key, keys);
    p.insert(p.end(), others.begin(), others.end());
    return p;
}

std::vector<float> Session::log_sum_exp(std::int64_t layer, std::int64_t head, std::int64_t first_row,
                                        std::int64_t rows, AttentionKind kind) {
    State& s = *state_;
    s.check_head(layer, head, kind);
    s.check_positions(first_row, rows, s.queries_of(kind), "rows");
    if (rows == 0) return {};
    s.settle();
    if (!s.options.record_attention.includes(layer))
        return s.replay_recording(layer).log_sum_exp(layer, head, first_row, rows, kind);
    const std::int64_t heads = s.model.info().heads_of(kind);
    std::vector<float> all(static_cast<std::size_t>(rows * heads)), some;
    gpu::download(s.device, s.tap_source(layer, kind, model_names::keys(layer, kind)).lse.buffer,
                  static_cast<std::uint64_t>(first_row * heads) * 4, std::as_writable_bytes(std::span(all)));
    for (std::int64_t row = 0; row < rows; ++row) some.push_back(all[static_cast<std::size_t>(row * heads + head)]);
    return some;
}

// The tokens with their marks as the op head_statistics takes them; how queries and keys lie to each other becomes an option of
// the source.
std::vector<std::int32_t> Session::State::marked_tokens(TapSource& tapped, std::span<const std::int32_t> marks,
                                                        AttentionKind kind) const {
    const auto positions = static_cast<std::size_t>(tapped.k.type->shape[0]),
               keys = static_cast<std::size_t>(keys_of(kind));
    const bool apart = kind == AttentionKind::cross;
    if (apart) tapped.attrs.set("apart", true);
    if (is_vision()) tapped.attrs.set("columns", model.config().image.columns());
    std::vector<std::int32_t> all(2 * (positions + (apart ? static_cast<std::size_t>(tapped.q.type->shape[0]) : 0)));
    for (std::size_t i = 0; i < marks.size(); ++i) {
        const bool of_query = apart && i >= keys;
        const std::size_t at = of_query ? positions + i - keys : i;
        all[2 * at + 1] = marks[i];
        if (!is_vision())
            all[2 * at] = kind == AttentionKind::self ? sequence.tokens[i]
                          : of_query                  ? sequence.tokens[i - keys]
                                                      : sequence.source[i];
    }
    return all;
}

HeadTable Session::head_statistics(std::int64_t layer, std::span<const std::int32_t> marks,
                                   std::span<const float> factors, AttentionKind kind) {
    State& s = *state_;
    const bool apart = kind == AttentionKind::cross;
    s.check_head(layer, 0, kind);
    const std::int64_t count = apart ? s.keys_of(kind) : std::ssize(marks),
                       rows = std::ssize(marks) - (apart ? count : 0), heads = s.model.info().heads_of(kind);
    s.check_positions(0, rows, s.queries_of(kind), "rows");
    if (!factors.empty() && std::ssize(factors) != count * heads)
        throw Error(ErrorKind::usage,
                    format("head statistics: %zu factors do not fit %lld tokens and %lld heads", factors.size(),
                           static_cast<long long>(count), static_cast<long long>(heads)));
    if (rows == 0) return {};
    s.settle();
    if (!s.options.record_attention.includes(layer))
        return s.replay_recording(layer).head_statistics(layer, marks, factors, kind);
    TapSource source = s.tap_source(layer, kind, model_names::keys(layer, kind));
    const std::vector<std::int32_t> tokens = s.marked_tokens(source, marks, kind);
    std::vector<float> all_factors(factors.begin(), factors.end());
    if (!factors.empty()) all_factors.resize(static_cast<std::size_t>(source.k.type->shape[0] * heads));
    const std::int64_t own = std::min(s.global_rows(layer), rows);
    HeadTable table = s.tap.statistics(source, own, rows - own, count, tokens, all_factors);
    if (own == 0) return table;
    const HeadTable global = s.tap.statistics(s.tap_source(layer, kind, model_names::global_keys(layer)), 0, own, count,
                                              tokens, all_factors);
    table.rows.insert(table.rows.begin(), global.rows.begin(), global.rows.end());
    for (std::size_t i = 0; i < table.keys.size(); ++i) table.keys[i] += global.keys[i];
    return table;
}

}  // namespace vantage
