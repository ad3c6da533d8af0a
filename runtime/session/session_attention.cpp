// What a session tells of its attention: weights of any head by the tap, log-sum-exps, the replay where a layer was not watched.
#include <algorithm>

#include "runtime/base/fallback.h"
#include "runtime/base/log.h"
#include "runtime/session/session_state.h"
#include "runtime/gpu/commands.h"
#include "vantage/op.h"

namespace vantage {

// What the weights of a layer's rows are made from, by the name of the keys that these rows look at.
TapSource Session::State::tap_source(std::int64_t layer, AttentionOf of, const std::string& keys) {
    const Graph& graph = graph_of(of);
    const auto tensor = [&](const Value& value) {
        return TapSource::Data{bindings->buffers.at(value.name), value.type};
    };
    TapSource tapped;
    for (const Value& value : graph.values()) {
        if (value.kind != ValueKind::state) continue;
        if (value.name == model_names::watched_queries(layer, of)) tapped.q = tensor(value);
        if (value.name == model_names::watched_lse(layer, of)) tapped.lse = tensor(value);
        if (value.name == keys) tapped.k = tensor(value);
        if (value.name == model_names::values(layer, of)) tapped.v = tensor(value);
    }
    for (const Node& node : graph.nodes()) {
        if (std::string(node.op->name) != "attention") continue;
        if (graph.value(graph.storage(operand_named(node, "k"))).name != keys) continue;
        tapped.attrs = node.attrs;
        tapped.sinks = operand_named(node, "sinks") >= 0;
        if (const int bias = operand_named(node, "position_bias"); bias >= 0)
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
Session& Session::State::replay_watching(std::int64_t layer) {
    const auto ran = std::span(sequence.tokens).first(static_cast<std::size_t>(sequence.processed));
    if (replay && replay->state_->options.watch.includes(layer) && std::ranges::equal(replay->tokens(), ran))
        return *replay;
    fall_back(format("layer %lld was not watched: the sequence of %lld tokens is replayed to see its attention",
                     static_cast<long long>(layer), static_cast<long long>(sequence.processed)));
    SessionOptions watching = options;
    watching.watch = {.layers = {layer}}, watching.inspect = watching.profile = false;
    watching.rope_context = std::max(context, options.rope_context);
    watching.context =
        std::max(sequence.processed,
                 std::ssize(sequence.source));  // a context that was chosen to fill the memory would not fit twice
    replay.reset();                             // its memory first
    replay = std::make_unique<Session>(model, watching);
    if (translates()) {
        replay->encode(sequence.source);
        replay->rewind(0);
    }
    if (sees())
        replay->look(pixels);
    else
        replay->append(ran, std::span(sequence.types).first(ran.size()));
    replay->process();
    return *replay;
}

void Session::State::check_head(std::int64_t layer, std::int64_t head, AttentionOf of) const {
    const ModelInfo& info = model.info();
    const std::int64_t layers = info.layers_of(of), heads = info.heads_of(of);
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

TapSource Session::tap_source(std::int64_t layer, AttentionOf of) const {
    State& s = *state_;
    s.check_head(layer, 0, of);
    if (!s.options.watch.includes(layer))
        throw Error(ErrorKind::usage, format("attention: layer %lld is not watched (SessionOptions::watch)",
                                             static_cast<long long>(layer)));
    return s.tap_source(layer, of, model_names::keys(layer, of));
}

std::vector<float> Session::attention(std::int64_t layer, std::int64_t head, std::int64_t first_row, std::int64_t rows,
                                      std::int64_t first_key, std::int64_t keys, AttentionOf of) {
    State& s = *state_;
    s.check_head(layer, head, of);
    s.check_positions(first_row, rows, s.queries_of(of), "rows");
    s.check_positions(first_key, keys, s.keys_of(of), "keys");
    if (rows == 0 || keys == 0) return {};
    s.settle();
    if (!s.options.watch.includes(layer))
        return s.replay_watching(layer).attention(layer, head, first_row, rows, first_key, keys, of);
    const std::int64_t own = std::clamp<std::int64_t>(s.global_rows(layer) - first_row, 0, rows);
    std::vector<float> p =
        s.tap.weights(s.tap_source(layer, of, model_names::global_keys(layer)), head, first_row, own, first_key, keys);
    const std::vector<float> others = s.tap.weights(s.tap_source(layer, of, model_names::keys(layer, of)), head,
                                                    first_row + own, rows - own, first_key, keys);
    p.insert(p.end(), others.begin(), others.end());
    return p;
}

std::vector<float> Session::log_sum_exp(std::int64_t layer, std::int64_t head, std::int64_t first_row,
                                        std::int64_t rows, AttentionOf of) {
    State& s = *state_;
    s.check_head(layer, head, of);
    s.check_positions(first_row, rows, s.queries_of(of), "rows");
    if (rows == 0) return {};
    s.settle();
    if (!s.options.watch.includes(layer)) return s.replay_watching(layer).log_sum_exp(layer, head, first_row, rows, of);
    const std::int64_t heads = s.model.info().heads_of(of);
    std::vector<float> all(static_cast<std::size_t>(rows * heads)), some;
    gpu::download(s.device, s.tap_source(layer, of, model_names::keys(layer, of)).lse.buffer,
                  static_cast<std::uint64_t>(first_row * heads) * 4, std::as_writable_bytes(std::span(all)));
    for (std::int64_t row = 0; row < rows; ++row) some.push_back(all[static_cast<std::size_t>(row * heads + head)]);
    return some;
}

// The tokens with their marks as the op head_statistics takes them; how queries and keys lie to each other becomes an option of
// the source.
std::vector<std::int32_t> Session::State::marked_tokens(TapSource& tapped, std::span<const std::int32_t> marks,
                                                        AttentionOf of) const {
    const auto positions = static_cast<std::size_t>(tapped.k.type->shape[0]),
               keys = static_cast<std::size_t>(keys_of(of));
    const bool apart = of == AttentionOf::cross;
    if (apart) tapped.attrs.set("apart", true);
    if (sees()) tapped.attrs.set("columns", model.config().image.columns());
    std::vector<std::int32_t> all(2 * (positions + (apart ? static_cast<std::size_t>(tapped.q.type->shape[0]) : 0)));
    for (std::size_t i = 0; i < marks.size(); ++i) {
        const bool of_query = apart && i >= keys;
        const std::size_t at = of_query ? positions + i - keys : i;
        all[2 * at + 1] = marks[i];
        if (!sees())
            all[2 * at] = of == AttentionOf::self ? sequence.tokens[i]
                          : of_query              ? sequence.tokens[i - keys]
                                                  : sequence.source[i];
    }
    return all;
}

HeadTable Session::head_statistics(std::int64_t layer, std::span<const std::int32_t> marks,
                                   std::span<const float> factors, AttentionOf of) {
    State& s = *state_;
    const bool apart = of == AttentionOf::cross;
    s.check_head(layer, 0, of);
    const std::int64_t count = apart ? s.keys_of(of) : std::ssize(marks),
                       rows = std::ssize(marks) - (apart ? count : 0), heads = s.model.info().heads_of(of);
    s.check_positions(0, rows, s.queries_of(of), "rows");
    if (!factors.empty() && std::ssize(factors) != count * heads)
        throw Error(ErrorKind::usage,
                    format("head statistics: %zu factors do not fit %lld tokens and %lld heads", factors.size(),
                           static_cast<long long>(count), static_cast<long long>(heads)));
    if (rows == 0) return {};
    s.settle();
    if (!s.options.watch.includes(layer)) return s.replay_watching(layer).head_statistics(layer, marks, factors, of);
    TapSource source = s.tap_source(layer, of, model_names::keys(layer, of));
    const std::vector<std::int32_t> tokens = s.marked_tokens(source, marks, of);
    std::vector<float> all_factors(factors.begin(), factors.end());
    if (!factors.empty()) all_factors.resize(static_cast<std::size_t>(source.k.type->shape[0] * heads));
    const std::int64_t own = std::min(s.global_rows(layer), rows);
    HeadTable table = s.tap.statistics(source, own, rows - own, count, tokens, all_factors);
    if (own == 0) return table;
    const HeadTable global =
        s.tap.statistics(s.tap_source(layer, of, model_names::global_keys(layer)), 0, own, count, tokens, all_factors);
    table.rows.insert(table.rows.begin(), global.rows.begin(), global.rows.end());
    for (std::size_t i = 0; i < table.keys.size(); ++i) table.keys[i] += global.keys[i];
    return table;
}

}  // namespace vantage
