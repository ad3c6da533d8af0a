// What a session tells of its attention: weights of any head by the tap, log-sum-exps, the replay where a layer was not watched.
#include <algorithm>

#include "runtime/base/fallback.h"
#include "runtime/base/log.h"
#include "runtime/exec/session_state.h"
#include "runtime/gpu/commands.h"
#include "runtime/graph/op.h"

namespace vantage {

TapSource Session::State::source(std::int64_t layer) {
    const auto tensor = [&](const Value& value) {
        return TapSource::Data{bindings->buffers.at(value.name), value.type};
    };
    TapSource source;
    for (const Value& value : graph.values()) {
        if (value.kind != ValueKind::state) continue;
        if (value.name == model_names::watched_queries(layer)) source.q = tensor(value);
        if (value.name == model_names::watched_lse(layer)) source.lse = tensor(value);
        if (value.name == model_names::keys(layer)) source.k = tensor(value);
    }
    for (const Node& node : graph.nodes()) {
        if (std::string(node.op->name) != "attention") continue;
        if (graph.value(graph.storage(operand_named(node, "k"))).name != model_names::keys(layer)) continue;
        source.attrs = node.attrs;
        if (const int bias = operand_named(node, "position_bias"); bias >= 0)
            source.position_bias = tensor(graph.value(bias));
    }
    return source;
}

// All that has run, once more in a session that watches `layer`.
Session& Session::State::replay_watching(std::int64_t layer) {
    const auto ran = std::span(tokens).first(static_cast<std::size_t>(processed));
    if (replay && replay->state_->options.watch.includes(layer) && std::ranges::equal(replay->tokens(), ran))
        return *replay;
    fall_back(format("layer %lld was not watched: the sequence of %lld tokens is replayed to see its attention",
                     static_cast<long long>(layer), static_cast<long long>(processed)));
    SessionOptions watching = options;
    watching.watch = {.layers = {layer}}, watching.inspect = watching.profile = false;
    watching.rope_context = std::max(context, options.rope_context);
    watching.context = processed;  // a context that was chosen to fill the memory would not fit twice
    replay.reset();                // its memory first
    replay = std::make_unique<Session>(model, watching);
    if (sees())
        replay->look(pixels);
    else
        replay->append(ran, std::span(types).first(ran.size()));
    replay->process();
    return *replay;
}

void Session::State::check_window(std::int64_t layer, std::int64_t head, std::int64_t first, std::int64_t count,
                                  const char* what) const {
    const ModelConfig& c = model.config();
    if (layer < 0 || layer >= c.layers)
        throw Error(ErrorKind::usage, format("attention: layer %lld is outside of 0 … %lld",
                                             static_cast<long long>(layer), static_cast<long long>(c.layers - 1)));
    if (head < 0 || head >= c.heads)
        throw Error(ErrorKind::usage, format("attention: head %lld is outside of 0 … %lld",
                                             static_cast<long long>(head), static_cast<long long>(c.heads - 1)));
    if (first < 0 || count < 0 || first > processed || count > processed - first)
        throw Error(ErrorKind::usage,
                    format("attention: %lld %s from %lld on are not inside of the %lld positions that have run",
                           static_cast<long long>(count), what, static_cast<long long>(first),
                           static_cast<long long>(processed)));
}

std::vector<float> Session::attention(std::int64_t layer, std::int64_t head, std::int64_t first_row, std::int64_t rows,
                                      std::int64_t first_key, std::int64_t keys) {
    State& s = *state_;
    s.check_window(layer, head, first_row, rows, "rows");
    s.check_window(layer, head, first_key, keys, "keys");
    if (rows == 0 || keys == 0) return {};
    s.settle();
    if (!s.options.watch.includes(layer))
        return s.replay_watching(layer).attention(layer, head, first_row, rows, first_key, keys);
    return s.tap.weights(s.source(layer), head, first_row, rows, first_key, keys);
}

std::vector<float> Session::log_sum_exp(std::int64_t layer, std::int64_t head, std::int64_t first_row,
                                        std::int64_t rows) {
    State& s = *state_;
    s.check_window(layer, head, first_row, rows, "rows");
    if (rows == 0) return {};
    s.settle();
    if (!s.options.watch.includes(layer)) return s.replay_watching(layer).log_sum_exp(layer, head, first_row, rows);
    const auto heads = s.model.config().heads;
    std::vector<float> all(static_cast<std::size_t>(rows * heads)), some;
    gpu::download(s.device, s.source(layer).lse.buffer, static_cast<std::uint64_t>(first_row * heads) * 4,
                  std::as_writable_bytes(std::span(all)));
    for (std::int64_t row = 0; row < rows; ++row) some.push_back(all[static_cast<std::size_t>(row * heads + head)]);
    return some;
}

}  // namespace vantage
