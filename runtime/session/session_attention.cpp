// What a session tells of its attention: weights of any head by the tap, log-sum-exps, the replay where a layer was not
// recorded.
#include <algorithm>
#include <cmath>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/base/log.h"
#include "runtime/gpu/transfer.h"
#include "runtime/models/head_projections.h"
#include "runtime/ops/alignment.h"
#include "runtime/ops/attention.h"
#include "runtime/ops/cached_linear_attention.h"
#include "runtime/session/model_access.h"
#include "runtime/session/session_access.h"
#include "runtime/session/session_state.h"

namespace vantage {

TapSource Session::State::source_of(std::int64_t layer, AttentionKind kind, const std::string& keys) const {
    const Graph& graph = core.graph_of(kind);
    const auto tensor = [&](const Value& value) { return TapSource::Data{core.states.buffer(value.name), value.type}; };
    TapSource tapped;
    for (const Value& value : graph.values()) {
        if (value.kind != ValueKind::state) continue;
        if (value.name == model_names::recorded_queries(layer, kind)) tapped.q = tensor(value);
        if (value.name == model_names::recorded_lse(layer, kind)) tapped.lse = tensor(value);
        if (value.name == model_names::recorded_bias(layer, kind)) tapped.position_bias = tensor(value);
        if (value.name == keys) tapped.k = tensor(value);
        if (value.name == model_names::values(layer, kind)) tapped.v = tensor(value);
    }
    for (const Node& node : graph.nodes()) {
        if (node.op == &alignment_op) tapped.attrs.set("feature", "scores");  // recorded in place of queries
        if (!attends_to(graph, node, keys)) continue;
        if (node.op == &cached_linear_attention_op) {
            namespace linear = ops::cached_linear_attention;
            tapped.attrs.set("causal", node.attrs.flag("causal"));
            tapped.attrs.set("feature", node.attrs.text("feature", "elu+1"));
            if (const int logs = node.inputs[linear::key_log_]; logs >= 0) {
                tapped.attrs.set("position_bias", "key_log");
                tapped.position_bias = tensor(graph.value(graph.storage(logs)));
            }
            continue;
        }
        tapped.attrs = node.attrs;
        tapped.sinks = node.inputs[ops::attention::sinks_] >= 0;
        if (const int bias = node.inputs[ops::attention::position_bias_]; bias >= 0 && !tapped.position_bias.type)
            tapped.position_bias = tensor(graph.value(graph.storage(bias)));
        if (const int mask = node.inputs[ops::attention::block_mask_]; mask >= 0)
            tapped.block_mask = tensor(graph.value(graph.storage(mask)));
        if (!node.attrs.flag("hard")) continue;
        tapped.attrs.set("feature", "hard");
        tapped.lse = {core.states.buffer(model_names::recorded_key(layer, kind)), tapped.lse.type};
    }
    return tapped;
}

// Whether some rows look at keys of their own.
bool Session::State::has_global_rows(std::int64_t layer) const {
    return core.states.has(model_names::global_keys(layer));
}

std::vector<Session::State::Rows> Session::State::split_rows(std::int64_t layer, Range rows) const {
    if (!has_global_rows(layer)) return {{rows, false}};
    const GlobalTokens tokens = global_tokens_of(core.options);
    const std::int64_t first = tokens.first.value_or(core.config.own.integer("global_tokens"));
    const auto is_global = [&](std::int64_t row) {
        return tokens.scattered.empty() ? row < first : std::ranges::binary_search(tokens.scattered, row);
    };
    std::vector<Rows> parts;
    for (std::int64_t row = rows.first; row < rows.first + rows.count; ++row) {
        if (parts.empty() || parts.back().global != is_global(row)) parts.push_back({{row, 0}, is_global(row)});
        ++parts.back().rows.count;
    }
    return parts;
}

Session& Session::State::replay_recording(std::int64_t layer) {
    const auto ran = std::span(sequence.tokens).first(static_cast<std::size_t>(sequence.processed));
    if (core.replay && core.replay->state_->records(layer) && std::ranges::equal(core.replay->tokens(), ran))
        return *core.replay;
    fall_back(format("layer {} was not recorded: the sequence of {} tokens is replayed to see its attention", layer,
                     sequence.processed));
    SessionOptions recording = core.options;
    recording.record_attention = {.layers = {layer}}, recording.inspect = recording.profile = false;
    recording.rope_context = std::max(core.context, core.options.rope_context);
    // a context that was chosen to fill the memory would not fit twice
    recording.context =
        core.config.sees() ? sequence.processed : std::max(sequence.processed, std::ssize(sequence.source));
    core.replay.reset();  // its memory first
    core.replay = std::make_unique<Session>(core.model, recording);
    Session& replay = *core.replay;
    if (core.config.sees())
        replay.set_image(core.runs.pixels());
    else if (core.is_encoder_decoder())
        replay.set_source(sequence.source);
    if (core.is_encoder_decoder()) replay.rewind(0);
    if (!core.config.is_vision()) replay.append(ran, std::span(sequence.types).first(ran.size()));
    replay.run();
    return replay;
}

void Session::State::check_head(const HeadId& head) const {
    const ModelInfo& info = core.model.info();
    require_attention(info, "attention");
    const std::int64_t heads = info.heads_of(head.kind);
    if (heads == 0 && core.config.recurrent)
        throw usage_error("attention: {} is recurrent: only its cross-attention is there", described(info));
    if (heads == 0)
        throw usage_error("attention: " + described(info) + " is no encoder–decoder: its attention is its own");
    if (!info.attends(head.layer, head.kind))
        throw usage_error("attention: there is none in layer {}; {} has {}", head.layer, info.name,
                          attending_text(info, head.kind));
    if (head.head < 0 || head.head >= heads)
        throw usage_error("attention: head {} is outside of 0 … {}", head.head, heads - 1);
    if (const AttentionVariant& variant = core.options.variant; variant.form == AttentionForm::linformer)
        throw unsupported_error(
            "attention kind {}: weights are on {} projected keys, each a mix of all tokens; there are none on tokens",
            name_of(variant), variant.number);
}

// Infinity is no fault here: a row that sees no key has a log-sum-exp of -inf, and all weights are at most 1.
void Session::State::require_numbers(std::span<const float> results, const HeadId& head) const {
    if (std::ranges::any_of(results, [](float x) { return std::isnan(x); }))
        core.runs.fail_not_finite(0, format("the attention weights of layer {}", head.layer));
}

AttentionVariant SessionAccess::variant_of(const Session& session) { return session.use()->options.variant; }

TapSource SessionAccess::tap_source(const Session& session, std::int64_t layer, AttentionKind kind) {
    const auto core = session.use();
    const Session::State& s = *session.state_;
    s.check_head({.layer = layer, .kind = kind});
    if (!s.records(layer))
        throw usage_error("attention: layer {} is not recorded (SessionOptions::record_attention)", layer);
    TapSource source = s.source_of(layer, kind, model_names::keys(layer, kind));
    if (source.block_mask.type && s.has_global_rows(layer))
        throw unsupported_error(
            core->model.info().name +
            ": weights beside global tokens that are not the first ones are not drawn; Session::attention has them");
    return source;
}

// Rows of global tokens look at keys of their own.
std::vector<float> Session::State::weights(HeadId head, Range queries, Range keys) {
    std::vector<float> p;
    for (const auto& [rows, global] : split_rows(head.layer, queries)) {
        const std::string name =
            global ? model_names::global_keys(head.layer) : model_names::keys(head.layer, head.kind);
        const std::vector<float> part = tap.weights(source_of(head.layer, head.kind, name), head.head, rows.first,
                                                    rows.count, keys.first, keys.count);
        p.insert(p.end(), part.begin(), part.end());
    }
    require_numbers(p, head);
    return p;
}

Array Session::attention(std::int64_t layer, AttentionKind kind) {
    const auto core = use();
    State& s = *state_;
    s.check_head({.layer = layer, .kind = kind});
    core->runs.settle();
    if (!s.records(layer)) return s.replay_recording(layer).attention(layer, kind);
    const std::int64_t heads = core->model.info().heads_of(kind), queries = s.queries_of(kind), keys = s.keys_of(kind);
    std::vector<float> all;
    all.reserve(static_cast<std::size_t>(heads * queries * keys));
    for (std::int64_t head = 0; head < heads; ++head) {
        const std::vector<float> one = s.weights({layer, head, kind}, {0, queries}, {0, keys});
        all.insert(all.end(), one.begin(), one.end());
    }
    return {Shape{heads, queries, keys}, std::move(all)};
}

Array Session::attention(HeadId head, Range queries, Range keys) {
    const auto core = use();
    State& s = *state_;
    s.check_head(head);
    queries = queries.within(s.queries_of(head.kind), "attention: queries");
    keys = keys.within(s.keys_of(head.kind), "attention: keys");
    if (queries.count == 0 || keys.count == 0) return {};
    core->runs.settle();
    if (!s.records(head.layer)) return s.replay_recording(head.layer).attention(head, queries, keys);
    return {Shape{queries.count, keys.count}, s.weights(head, queries, keys)};
}

Array Session::log_sum_exp(HeadId head, Range queries) {
    const auto core = use();
    State& s = *state_;
    s.check_head(head);
    queries = queries.within(s.queries_of(head.kind), "attention: queries");
    if (queries.count == 0) return {};
    core->runs.settle();
    if (!s.records(head.layer)) return s.replay_recording(head.layer).log_sum_exp(head, queries);
    const std::int64_t heads = core->model.info().heads_of(head.kind);
    std::vector<float> all(static_cast<std::size_t>(queries.count * heads)), some;
    gpu::download(core->states.device(), core->states.buffer(model_names::recorded_lse(head.layer, head.kind)),
                  static_cast<std::uint64_t>(queries.first * heads) * 4, std::as_writable_bytes(std::span(all)));
    for (std::int64_t row = 0; row < queries.count; ++row) some.push_back(at(all, row * heads + head.head));
    // The weights say whether there was a NaN, some rows at a time: not every device's logarithm keeps it.
    constexpr std::int64_t rows_at_once = 64;
    for (std::int64_t row = 0; row < queries.count; row += rows_at_once)
        s.weights(head, {queries.first + row, std::min(rows_at_once, queries.count - row)}, {0, s.keys_of(head.kind)});
    return {Shape{queries.count}, std::move(some)};
}

// The tokens with their marks as the op head_statistics takes them; how queries and keys lie to each other becomes an
// option of the source.
std::vector<std::int32_t> Session::State::marked_tokens(TapSource& tapped, std::span<const std::int32_t> marks,
                                                        AttentionKind kind) const {
    const auto positions = static_cast<std::size_t>(tapped.k.type->shape[0]),
               keys = static_cast<std::size_t>(keys_of(kind));
    const bool apart = kind == AttentionKind::cross;
    if (apart) tapped.attrs.set("apart", true);
    const bool patches = core.config.is_vision() || (core.config.sees() && kind == AttentionKind::encoder);
    if (patches) tapped.attrs.set("columns", core.config.image.columns());
    std::vector<std::int32_t> all(2 * (positions + (apart ? static_cast<std::size_t>(tapped.q.type->shape[0]) : 0)));
    for (std::size_t i = 0; i < marks.size(); ++i) {
        const bool of_query = apart && i >= keys;
        const std::size_t at = of_query ? positions + i - keys : i;
        all[2 * at + 1] = marks[i];
        if (!patches)
            all[2 * at] = kind == AttentionKind::self ? sequence.tokens[i]
                          : of_query                  ? sequence.tokens[i - keys]
                                                      : sequence.source[i];
    }
    return all;
}

HeadTable Session::head_statistics(std::int64_t layer, std::span<const std::int32_t> marks,
                                   std::span<const float> factors, AttentionKind kind) {
    const auto core = use();
    State& s = *state_;
    const bool apart = kind == AttentionKind::cross;
    s.check_head({.layer = layer, .kind = kind});
    const std::int64_t count = apart ? s.keys_of(kind) : std::ssize(marks),
                       rows = std::ssize(marks) - (apart ? count : 0), heads = core->model.info().heads_of(kind);
    static_cast<void>(Range{0, rows}.within(s.queries_of(kind), "head statistics: queries"));
    if (!factors.empty() && std::ssize(factors) != count * heads)
        throw usage_error("head statistics: {} factors do not fit {} tokens and {} heads", factors.size(), count,
                          heads);
    if (rows == 0) return {};
    core->runs.settle();
    if (!s.records(layer)) return s.replay_recording(layer).head_statistics(layer, marks, factors, kind);
    TapSource source = s.source_of(layer, kind, model_names::keys(layer, kind)), global;
    if (s.has_global_rows(layer)) global = s.source_of(layer, kind, model_names::global_keys(layer));
    const std::vector<std::int32_t> tokens = s.marked_tokens(source, marks, kind);
    std::vector<float> all_factors(factors.begin(), factors.end());
    if (!factors.empty()) all_factors.resize(static_cast<std::size_t>(source.k.type->shape[0] * heads));
    HeadTable table;
    for (const State::Rows& part : s.split_rows(layer, {0, rows})) {
        HeadTable more = s.tap.statistics(part.global ? global : source, part.rows.first, part.rows.count, count,
                                          tokens, all_factors);
        s.require_numbers(more.rows, {.layer = layer, .kind = kind});
        if (table.keys.empty()) {
            table = std::move(more);
            continue;
        }
        table.rows.insert(table.rows.end(), more.rows.begin(), more.rows.end());
        for (std::size_t i = 0; i < table.keys.size(); ++i) table.keys[i] += more.keys[i];
    }
    return table;
}

}  // namespace vantage
