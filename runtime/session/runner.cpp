// The states of a runner's sequences: how many tokens they may have, their memory on the device, what is taken into them.
#include "runtime/session/runner.h"

#include <algorithm>

#include "runtime/base/fallback.h"
#include "runtime/base/log.h"
#include "runtime/base/options.h"
#include "runtime/exec/guard.h"
#include "runtime/gpu/queue.h"
#include "runtime/gpu/transfer.h"

namespace vantage {

namespace {

constexpr double share_of_memory = 0.5;  // of what is available, that an unasked-for context may take

void check_sampling(const Sampling& sampling) {
    if (!(sampling.temperature >= 0) || !(sampling.top_p >= 0 && sampling.top_p <= 1) ||
        !(sampling.min_p >= 0 && sampling.min_p <= 1) || sampling.top_k < 0 || !(sampling.repeat_penalty > 0))
        throw Error(ErrorKind::usage,
                    "sampling: temperature and top-k have to be at least 0, top-p and min-p between 0 and 1, the "
                    "repeat penalty above 0");
}

}  // namespace

Runner::Runner(const Model& m, const SessionOptions& o, std::int64_t count)
    : model(m), options(o), device(m.device().state()), sequences(static_cast<std::size_t>(count)) {
    check_options();
    context = chosen_context();
    own.graph = model.graph(build_options(1));
    if (is_encoder_decoder()) source.graph = model.graph(build_options(1, true));
    for (Sequence& s : sequences) {
        s.hidden.resize(static_cast<std::size_t>(model.config().layers + 1));
        s.source_hidden.resize(is_encoder_decoder() ? static_cast<std::size_t>(model.config().encoder.layers + 1) : 0);
        s.router.resize(model.config().experts > 0 ? s.hidden.size() - 1 : 0);
    }
    make_states();
    set_head_mask();
}

Runner::~Runner() { gpu::wait_idle(device); }

void Runner::check_options() const {
    for (std::int64_t layer : options.record_attention.layers)
        if (layer < 0 || layer >= max_layers())
            throw Error(ErrorKind::usage,
                        format("layer %lld cannot be watched: %s has layers 0 … %lld", static_cast<long long>(layer),
                               model.info().name.c_str(), static_cast<long long>(max_layers() - 1)));
    const std::optional<std::int64_t>& count = options.global_tokens;
    if (!count) return;
    if (!model.config().own.has("global_tokens"))
        throw Error(ErrorKind::usage, model.info().name + " (" + model.info().architecture + ") has no global tokens");
    if (*count < 0 || *count > model.config().context)
        throw Error(ErrorKind::usage,
                    format("%lld global tokens were asked for, wanted 0 to %lld, what %s allows",
                           static_cast<long long>(*count), static_cast<long long>(model.config().context),
                           model.info().name.c_str()));
}

BuildOptions Runner::build_options(std::int64_t rows, bool encoder) const {
    std::vector<bool> recorded;  // by layer
    for (std::int64_t layer = 0; layer < max_layers(); ++layer)
        recorded.push_back(options.record_attention.includes(layer));
    return {.rows = rows,
            .sequences = std::ssize(sequences),
            .context = context,
            .encoder = encoder,
            .cache = cache_type(),
            .record_attention = recorded,
            .all_logits = options.inspect,
            .hidden = options.inspect,
            .head_mask = options.masked_heads.has_value(),
            .rope_context = options.rope_context,
            .global_tokens = options.global_tokens};
}

// What is kept on the device for one token of the context, of every sequence: caches, watched rows, tables, the token.
std::uint64_t Runner::bytes_per_token() const {
    const auto kept = [&](std::int64_t count) {
        std::map<std::string, std::uint64_t> bytes;  // by name: two graphs share some
        const auto add = [&](bool encoder) {
            BuildOptions shape = build_options(1, encoder);
            shape.context = count;
            const Graph sized = model.graph(shape);
            for (const Value& value : sized.values())
                if (value.kind == ValueKind::state || value.kind == ValueKind::constant)
                    bytes[value.name] = value.type.bytes();
        };
        add(false);
        if (is_encoder_decoder()) add(true);
        std::uint64_t sum = 0;
        for (const auto& [name, size] : bytes) sum += size;
        return sum;
    };
    return kept(2) - kept(1);
}

std::int64_t Runner::chosen_context() const {
    const ModelConfig& c = model.config();
    if (options.context > c.context)
        throw Error(ErrorKind::usage, format("a context of %lld tokens was asked for, but %s allows %lld",
                                             static_cast<long long>(options.context), model.info().name.c_str(),
                                             static_cast<long long>(c.context)));
    if (options.context < 0) throw Error(ErrorKind::usage, "a context has at least one token");
    if (is_vision()) return c.context;
    if (options.context > 0) return options.context;
    const std::uint64_t each = bytes_per_token();
    const auto holds = static_cast<std::int64_t>(
        share_of_memory * static_cast<double>(model.device().memory_available()) / static_cast<double>(each));
    const std::int64_t default_context = c.default_context > 0 ? c.default_context : c.context;
    if (holds >= default_context) return default_context;
    const std::string of =
        sequences.size() > 1 ? format(" of each of the %zu sequences", sequences.size()) : std::string();
    if (holds < 1)
        throw Error(ErrorKind::out_of_memory, "there is no device memory left for a context of even one token" + of);
    fall_back(
        format("the context is %lld tokens instead of the model's %lld: more would not fit the device's memory (%.0f "
               "KiB a token%s); --ctx sets it",
               static_cast<long long>(holds), static_cast<long long>(default_context), static_cast<double>(each) / 1024,
               of.c_str()));
    return holds;
}

void Runner::make_states() {
    const bool guard = options.guard || environment_flag("VANTAGE_GUARD");
    *bindings = *model.weights();
    for (const Graph* graph : {&own.graph, &source.graph})
        for (const Value& value : graph->values()) {
            if (value.kind != ValueKind::state && value.kind != ValueKind::constant) continue;
            if (bindings->buffers.count(value.name) == 0)
                bindings->buffers[value.name] = allocate_value(device, value, guard);
        }
    own.step = bindings->buffers.at(model_names::step);
    own.tokens = bindings->buffers.at(model_names::tokens);
    if (!is_encoder_decoder()) return;
    source.step = bindings->buffers.at(model_names::source_step);
    source.tokens = bindings->buffers.at(model_names::source_tokens);
}

Session::Memory Runner::memory() const {
    Session::Memory m;
    for (const auto& [name, buffer] : bindings->buffers) {
        if (model.weights()->buffers.count(name) != 0) continue;
        (name.rfind("cache.", 0) == 0   ? m.cache
         : name.rfind("watch.", 0) == 0 ? m.recorded
                                        : m.states) += buffer.bytes();
    }
    for (const GraphPlans* side : {&own, &source})
        for (const auto& [rows, plan] : side->plans) m.intermediates += plan->arena_bytes();
    return m;
}

void Runner::forget_results(Sequence& s) const {
    for (std::vector<float>* result : {&s.logits, &s.pooled, &s.relation, &s.last_hidden}) result->clear();
    for (std::vector<float>& stream : s.hidden) stream.clear();
    for (std::vector<float>& stream : s.router) stream.clear();
    s.processed = 0;
    ++s.forgotten;
}

void Runner::restart(std::size_t index, const Sampling& sampling) {
    check_sampling(sampling);
    finish_flight();
    Sequence& s = sequences[index];
    s.sampling = sampling;
    s.sampling.top_k = std::min(sampling.top_k, model.config().vocab);
    s.tokens.clear();
    s.types.clear();
    s.source.clear();
    s.source_waits = false;
    for (std::vector<float>& stream : s.source_hidden) stream.clear();
    forget_results(s);
    s.ended = step_current = false;
    if (!is_encoder()) mark_seen(index);
}

void Runner::append(std::size_t index, std::span<const std::int32_t> ids, std::span<const std::int32_t> types) {
    if (is_vision())
        throw Error(ErrorKind::usage,
                    model.info().name + " looks at images (" + model.info().architecture + "): it takes no tokens");
    if (!types.empty() && types.size() != ids.size())
        throw Error(ErrorKind::usage,
                    format("%zu tokens have %zu types; one for each is wanted", ids.size(), types.size()));
    for (std::int32_t type : types)
        if (type < 0 || type >= std::max<std::int64_t>(model.config().token_types, 1))
            throw Error(ErrorKind::usage,
                        format("token type %d is none of the %lld of %s", type,
                               static_cast<long long>(model.config().token_types), model.info().name.c_str()));
    check_ids(ids);
    finish_flight();
    Sequence& s = sequences[index];
    check_room(s.tokens.size(), ids.size());
    if (s.ended && !is_encoder()) mark_seen(index);  // the device may have gone on behind the end
    s.tokens.insert(s.tokens.end(), ids.begin(), ids.end());
    s.types.insert(s.types.end(), types.begin(), types.end());
    s.types.resize(s.tokens.size());
    s.ended = step_current = false;
}

void Runner::rewind(std::size_t index, std::int64_t count) {
    Sequence& s = sequences[index];
    if (count < 0 || count > s.size())
        throw Error(ErrorKind::usage, format("a sequence of %zu tokens cannot go back to token %lld", s.tokens.size(),
                                             static_cast<long long>(count)));
    const ModelConfig& config = model.config();
    if (is_vision() && count > 0 && count < context)
        throw Error(ErrorKind::usage, model.info().name + " looks at whole images: it cannot go back into one");
    finish_flight();
    ++s.forgotten;
    s.tokens.resize(static_cast<std::size_t>(count));
    s.types.resize(s.tokens.size());
    s.ended = step_current = false;
    if (is_encoder()) return forget_results(s);
    s.processed = std::min(s.processed, count);
    const auto keep = [&](std::vector<float>& rows, std::int64_t width) {
        if (!rows.empty()) rows.resize(static_cast<std::size_t>(s.processed * width));
    };
    keep(s.logits, config.vocab);
    for (std::vector<float>& stream : s.hidden) keep(stream, config.width);
    for (std::vector<float>& stream : s.router) keep(stream, config.experts);
    mark_seen(index);
}

void Runner::set_source(std::size_t index, std::span<const std::int32_t> ids) {
    if (!is_encoder_decoder())
        throw Error(ErrorKind::usage, model.info().name + " (" + model.info().architecture +
                                          ") is no encoder–decoder: it has no encoder that reads another text");
    if (ids.empty()) throw Error(ErrorKind::usage, "there is nothing to read: the text has no tokens");
    check_ids(ids);
    check_room(0, ids.size());
    restart(index, sequences[index].sampling);
    sequences[index].source.assign(ids.begin(), ids.end());
    sequences[index].source_waits = true;
    const auto start = static_cast<std::int32_t>(model.config().start_token);
    append(index, std::span(&start, 1), {});
}

void Runner::check_ids(std::span<const std::int32_t> ids) const {
    for (std::int32_t id : ids)
        if (id < 0 || id >= model.config().vocab)
            throw Error(ErrorKind::usage,
                        format("token id %d is outside of the vocabulary of %s: 0 … %lld", id,
                               model.info().name.c_str(), static_cast<long long>(model.config().vocab - 1)));
}

void Runner::check_room(std::size_t there, std::size_t more) const {
    if (static_cast<std::int64_t>(there + more) > context)
        throw Error(ErrorKind::usage,
                    format("%zu tokens do not fit the context of %lld (%zu are there); shorten the prompt%s", more,
                           static_cast<long long>(context), there,
                           context < model.config().context ? ", or make the context larger" : ""));
}

void Runner::require_source() const {
    if (!is_encoder_decoder()) return;
    for (const Sequence& s : sequences)
        if (s.source.empty() && (sequences.size() == 1 || !s.tokens.empty()))
            throw Error(ErrorKind::usage, model.info().name + " is an encoder–decoder (" + model.info().architecture +
                                              "): it writes about a text, which set_source() gives it first");
}

// Makes the set of tokens that the repetition penalty is for what has run, and no more. Only while nothing runs.
void Runner::mark_seen(std::size_t index) {
    const Sequence& s = sequences[index];
    std::vector<std::uint32_t> words(seen_bytes() / 4);
    for (const std::int32_t token : std::span(s.tokens).first(static_cast<std::size_t>(s.processed)))
        words[static_cast<std::size_t>(token / 32)] |= 1u << (token % 32);
    gpu::upload(device, bindings->buffers.at(model_names::seen), index * seen_bytes(), std::as_bytes(std::span(words)));
}

void Runner::check_masked_head(const HeadId& place) const {
    const ModelInfo& info = model.info();
    const std::int64_t layers = info.layers_of(place.kind), heads = info.heads_of(place.kind);
    if (layers == 0)
        throw Error(ErrorKind::usage, "head " + name_of(place) + " cannot be silenced: " + info.name + " (" +
                                          info.architecture + ") is no encoder–decoder: its heads are layer.head");
    if (place.layer >= 0 && place.layer < layers && place.head >= 0 && place.head < heads) return;
    throw Error(ErrorKind::usage, format("head %s cannot be silenced: %s%s has layers 0 … %lld with heads 0 … %lld",
                                         name_of(place).c_str(), info.name.c_str(),
                                         place.kind == AttentionKind::encoder ? "'s encoder" : "",
                                         static_cast<long long>(layers - 1), static_cast<long long>(heads - 1)));
}

// Writes 1 and 0 for every feature of every head. Only while nothing runs.
void Runner::set_head_mask() {
    if (!options.masked_heads) return;
    for (const HeadId& place : *options.masked_heads) check_masked_head(place);
    for (const AttentionKind kind : {AttentionKind::self, AttentionKind::encoder, AttentionKind::cross})
        for (std::int64_t layer = 0; layer < model.info().layers_of(kind); ++layer) {
            const std::string name = model_names::head_mask(layer, kind);
            auto* numbers = reinterpret_cast<float*>(bindings->buffers.at(name).mapped());
            const Value& value = *std::ranges::find(graph_of(kind).values(), name, &Value::name);
            const std::int64_t features = value.type.shape[0], width = features / model.info().heads_of(kind);
            std::fill_n(numbers, features, 1.0f);
            for (const HeadId& place : *options.masked_heads)
                if (place.layer == layer && place.kind == kind) std::fill_n(numbers + place.head * width, width, 0.0f);
        }
}

}  // namespace vantage
