#include "vantage/session.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <deque>

#include "runtime/base/fallback.h"
#include "runtime/base/log.h"
#include "runtime/base/options.h"
#include "runtime/base/os.h"
#include "runtime/exec/bindings.h"
#include "runtime/exec/guard.h"
#include "runtime/exec/tap.h"
#include "runtime/gpu/commands.h"
#include "runtime/gpu/device.h"
#include "runtime/models/model_builder.h"
#include "shaders/params/step.h"

namespace vantage {

namespace {

constexpr std::int64_t chunk_sizes[] = {1, 8, 32, 128, 512};
constexpr int run_ahead = 2;             // generated tokens submitted before the first of them is read
constexpr double share_of_memory = 0.5;  // of what is available, that an unasked-for context may take

std::vector<float> joined(const std::vector<std::vector<float>>& parts) {
    std::vector<float> all;
    for (const std::vector<float>& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

void check_global_tokens(const Model& model, const std::optional<std::int64_t>& count) {
    if (!count) return;
    if (!model.config().own.has("global_tokens"))
        throw Error(ErrorKind::usage, model.info().name + " (" + model.info().architecture + ") has no global tokens");
    if (*count < 0 || *count > model.config().context)
        throw Error(ErrorKind::usage,
                    format("%lld global tokens were asked for, wanted 0 to %lld, what %s allows",
                           static_cast<long long>(*count), static_cast<long long>(model.config().context),
                           model.info().name.c_str()));
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

Precision precision_named(const std::string& name) {
    if (name == "f16") return Precision::f16;
    if (name == "f32") return Precision::f32;
    throw Error(ErrorKind::usage, "precision \"" + name + "\" is not known; there are f16 and f32");
}

bool Watch::includes(std::int64_t layer) const {
    return every || std::find(layers.begin(), layers.end(), layer) != layers.end();
}

struct Session::State {
    Model model;
    SessionOptions options;
    gpu::DeviceState& device;
    std::int64_t context = 0;
    Graph graph;  // of one token: what the states are, and how layers attend
    Sampling sampling;
    std::shared_ptr<Bindings> bindings = std::make_shared<Bindings>();
    std::map<std::int64_t, std::unique_ptr<Plan>> plans;  // by rows
    gpu::Buffer step, token_buffer;
    Tap tap;

    std::vector<std::int32_t> tokens, types;  // the sequence as the caller knows it
    std::int64_t processed = 0;               // tokens whose keys are in the cache
    std::deque<std::uint64_t> in_flight;
    bool step_current = false;  // the device's step continues where `tokens` ends
    bool ended = false;
    SessionStats stats;
    std::vector<float> logits, pooled, relation;
    std::vector<std::vector<float>> hidden, router;
    std::vector<DispatchTiming> timings;
    std::unique_ptr<Session> replay;  // the same tokens, with the layer watched that was asked for last

    State(const Model& m, const SessionOptions& o)
        : model(m), options(o), device(m.device().state()), tap(m.device().state()) {
        for (std::int64_t layer : options.watch.layers)
            if (layer < 0 || layer >= model.config().layers)
                throw Error(ErrorKind::usage, format("layer %lld cannot be watched: %s has layers 0 … %lld",
                                                     static_cast<long long>(layer), model.info().name.c_str(),
                                                     static_cast<long long>(model.config().layers - 1)));
        check_global_tokens(model, options.global_tokens);
        context = chosen_context();
        graph = model.graph(build_options(1));
        hidden.resize(static_cast<std::size_t>(model.config().layers + 1));
        router.resize(model.config().experts > 0 ? hidden.size() - 1 : 0);
        make_states();
    }
    ~State() { gpu::wait_idle(device); }

    bool encodes() const { return model.config().kind == ModelKind::encoder; }
    DType cache_type() const { return options.precision == Precision::f32 ? DType::f32 : DType::f16; }
    std::vector<bool> watched() const {
        std::vector<bool> by_layer;
        for (std::int64_t layer = 0; layer < model.config().layers; ++layer)
            by_layer.push_back(options.watch.includes(layer));
        return by_layer;
    }
    BuildOptions build_options(std::int64_t rows) const {
        return {.rows = rows,
                .context = context,
                .cache = cache_type(),
                .watch = watched(),
                .all_logits = options.inspect,
                .hidden = options.inspect,
                .rope_context = options.rope_context,
                .global_tokens = options.global_tokens};
    }

    std::uint64_t bytes_per_token() const;
    std::int64_t chosen_context() const;
    void make_states();
    Plan& plan(std::int64_t rows);
    std::int64_t chunk_for(std::int64_t waiting) const;
    double filled(std::int64_t count) const { return static_cast<double>(count) / static_cast<double>(context); }
    std::uint32_t* step_words() const { return reinterpret_cast<std::uint32_t*>(step.mapped()); }
    void finish_flight();
    void settle() const;
    void mark_seen();
    void sync_device();
    void forget_results();
    void make_plans(std::int64_t left, bool draw);
    void run_prompt(bool draw);
    void run_chunk(std::int64_t size, std::int64_t rows, bool draw);
    void collect(Plan& plan, std::int64_t rows);
    void submit_draw();
    std::optional<std::int32_t> read_draw();
    TapSource source(std::int64_t layer, const std::string& keys);
    std::int64_t own_rows(std::int64_t layer) const;
    Session& replay_watching(std::int64_t layer);
    void check_window(std::int64_t layer, std::int64_t head, std::int64_t first, std::int64_t count,
                      const char* what) const;
};

// What a session keeps on the device for one token of its context: caches, watched rows, tables, the token.
std::uint64_t Session::State::bytes_per_token() const {
    const auto kept = [&](std::int64_t count) {
        BuildOptions shape = build_options(1);
        shape.context = count;
        std::uint64_t bytes = 0;
        const Graph sized = model.graph(shape);
        for (const Value& value : sized.values())
            if (value.kind == ValueKind::state || value.kind == ValueKind::constant) bytes += value.type.bytes();
        return bytes;
    };
    return kept(2) - kept(1);
}

std::int64_t Session::State::chosen_context() const {
    const ModelConfig& c = model.config();
    if (options.context > c.context)
        throw Error(ErrorKind::usage, format("a context of %lld tokens was asked for, but %s allows %lld",
                                             static_cast<long long>(options.context), model.info().name.c_str(),
                                             static_cast<long long>(c.context)));
    if (options.context < 0) throw Error(ErrorKind::usage, "a context has at least one token");
    if (options.context > 0) return options.context;
    const std::uint64_t each = bytes_per_token();
    const auto holds = static_cast<std::int64_t>(
        share_of_memory * static_cast<double>(model.device().memory_available()) / static_cast<double>(each));
    // LongRoPE's long angles are for long contexts only: who wants one says so
    const std::int64_t usual =
        c.rope_long_factors.empty() ? c.context : std::min(c.context, c.rope_scaling.original_context);
    if (holds >= usual) return usual;
    if (holds < 1)
        throw Error(ErrorKind::out_of_memory, "there is no device memory left for a context of even one token");
    fall_back(
        format("the context is %lld tokens instead of the model's %lld: more would not fit the device's memory (%.0f "
               "KiB a token); --ctx sets it",
               static_cast<long long>(holds), static_cast<long long>(usual), static_cast<double>(each) / 1024));
    return holds;
}

void Session::State::make_states() {
    const bool guard = options.guard || environment_flag("VANTAGE_GUARD");
    bindings->buffers = model.weights()->buffers;
    for (const Value& value : graph.values()) {
        if (value.kind != ValueKind::state && value.kind != ValueKind::constant) continue;
        bindings->buffers[value.name] = allocate_value(device, value, guard);
    }
    step = bindings->buffers.at(model_names::step);
    token_buffer = bindings->buffers.at(model_names::tokens);
}

Plan& Session::State::plan(std::int64_t rows) {
    if (const auto made = plans.find(rows); made != plans.end()) return *made->second;
    auto made = std::make_unique<Plan>(model.graph(build_options(rows)), model.device(),
                                       CompileOptions{.fuse = options.fuse,
                                                      .profile = options.profile,
                                                      .guard = options.guard,
                                                      .submission_seconds = options.submission_seconds},
                                       bindings);
    return *(plans[rows] = std::move(made));
}

// The smallest size that holds all that waits, unless it would be padding for the most part.
std::int64_t Session::State::chunk_for(std::int64_t waiting) const {
    if (encodes()) {  // in one piece: the first tokens see the last
        std::int64_t size = chunk_sizes[1];
        while (size < waiting) size *= 2;
        return size;
    }
    std::int64_t best = 1;
    for (std::int64_t size : chunk_sizes) {
        if (size > options.largest_chunk) break;
        if (size >= waiting) return size < 2 * waiting || best == 1 ? size : best;
        best = size;
    }
    return best;
}

void Session::State::finish_flight() {
    settle();
    in_flight.clear();
}

// Makes the set of tokens that the repetition penalty is for what has run, and no more. Only while nothing runs.
void Session::State::mark_seen() {
    std::vector<std::uint32_t> words(static_cast<std::size_t>((model.config().vocab + 31) / 32));
    for (const std::int32_t token : std::span(tokens).first(static_cast<std::size_t>(processed)))
        words[static_cast<std::size_t>(token / 32)] |= 1u << (token % 32);
    gpu::upload(device, bindings->buffers.at(model_names::seen), 0, std::as_bytes(std::span(words)));
}

// Waits for all that runs; what was drawn meanwhile can still be read.
void Session::State::settle() const { gpu::wait(device, device.submitted); }

// Makes the device's step and tokens what the host knows. Only while nothing runs.
void Session::State::sync_device() {
    finish_flight();
    std::uint32_t* words = step_words();
    std::memset(words, 0, STEP_WORDS * 4);
    const ModelConfig& c = model.config();
    words[STEP_POSITION] = static_cast<std::uint32_t>(processed);
    words[STEP_END] = static_cast<std::uint32_t>(tokens.size());
    words[STEP_LIMIT] = static_cast<std::uint32_t>(context);
    words[STEP_SEED_LOW] = static_cast<std::uint32_t>(sampling.seed);
    words[STEP_SEED_HIGH] = static_cast<std::uint32_t>(sampling.seed >> 32);
    words[STEP_TEMPERATURE] = std::bit_cast<std::uint32_t>(static_cast<float>(sampling.temperature));
    words[STEP_TOP_K] = static_cast<std::uint32_t>(sampling.top_k);
    words[STEP_TOP_P] = std::bit_cast<std::uint32_t>(static_cast<float>(sampling.top_p));
    words[STEP_MIN_P] = std::bit_cast<std::uint32_t>(static_cast<float>(sampling.min_p));
    words[STEP_PENALTY] = std::bit_cast<std::uint32_t>(static_cast<float>(sampling.repeat_penalty));
    const std::size_t ends = sampling.ignore_end ? 0 : std::min<std::size_t>(c.end_tokens.size(), 8);
    words[STEP_END_TOKENS] = static_cast<std::uint32_t>(ends);
    for (std::size_t i = 0; i < ends; ++i) words[STEP_END_TOKEN + i] = static_cast<std::uint32_t>(c.end_tokens[i]);
    std::memcpy(token_buffer.mapped(), tokens.data(), tokens.size() * sizeof(std::int32_t));
    if (const auto place = bindings->buffers.find(model_names::types); place != bindings->buffers.end())
        std::memcpy(place->second.mapped(), types.data(), types.size() * sizeof(std::int32_t));
}

void Session::State::forget_results() {
    for (std::vector<float>* result : {&logits, &pooled, &relation}) result->clear();
    for (std::vector<float>& stream : hidden) stream.clear();
    for (std::vector<float>& stream : router) stream.clear();
    processed = 0;
}

void Session::State::collect(Plan& p, std::int64_t rows) {
    if (options.profile) {
        const std::vector<DispatchTiming> some = p.timings();
        timings.insert(timings.end(), some.begin(), some.end());
    }
    const auto append = [&](std::vector<float>& to, const std::string& name, std::int64_t count) {
        if (p.graph().outputs().count(name) == 0) return;
        const std::vector<float> some = p.read_rows(name, count);
        to.insert(to.end(), some.begin(), some.end());
    };
    append(logits, model_names::logits, model.config().head == Head::classification ? 1 : rows);
    append(pooled, model_names::pooled, 1);
    append(relation, model_names::relation, 1);
    for (std::size_t i = 0; i < hidden.size(); ++i)
        append(hidden[i], model_names::hidden(static_cast<std::int64_t>(i)), rows);
    for (std::size_t i = 0; i < router.size(); ++i)
        append(router[i], model_names::router(static_cast<std::int64_t>(i)), rows);
}

// One run of `rows` tokens by the plan for `size`, the rest padding; on with the output head where it is wanted.
void Session::State::run_chunk(std::int64_t size, std::int64_t rows, bool draw) {
    Plan& p = plan(size);
    const int segments[] = {model_names::body, model_names::head};
    const bool look = options.inspect || encodes();
    const std::uint64_t ticket = p.submit(std::span(segments, draw || look ? 2 : 1), filled(processed + rows));
    processed += rows;  // not when Ctrl-C came before all of it was submitted
    if (look || options.profile) {
        p.wait(ticket);
        collect(p, rows);
    }
    in_flight.assign(1, ticket);
}

// The plans that `left` tokens and what is drawn after them will need.
void Session::State::make_plans(std::int64_t left, bool draw) {
    const double begin = now();
    for (std::int64_t size = 0; left > 0; left -= size) {
        throw_if_interrupted();
        plan(size = chunk_for(left));
    }
    if (draw) plan(1);
    stats.compile_seconds += now() - begin;
}

// Runs what waits, chunk by chunk; the last one draws the next token when asked to, and stays in flight.
void Session::State::run_prompt(bool draw) {
    std::int64_t left = static_cast<std::int64_t>(tokens.size()) - processed;
    make_plans(left, draw);
    const double begin = now();
    stats.prompt_tokens += left;
    sync_device();
    while (left > 0) {
        throw_if_interrupted();
        const std::int64_t size = chunk_for(left), rows = std::min(left, size);
        left -= rows;
        run_chunk(size, rows, draw && left == 0);
    }
    if (!in_flight.empty()) gpu::wait(device, in_flight.back());
    if (!draw) in_flight.clear();
    step_current = draw;
    stats.prompt_seconds += now() - begin;
}

void Session::State::submit_draw() {
    const int segments[] = {model_names::body, model_names::head};
    Plan& p = plan(1);
    in_flight.push_back(p.submit(segments, filled(static_cast<std::int64_t>(tokens.size() + in_flight.size()))));
    if (options.profile) {
        p.wait(in_flight.back());
        collect(p, 0);
    }
}

// The token that the oldest submission drew; nothing when the device had come to an end before it.
std::optional<std::int32_t> Session::State::read_draw() {
    gpu::wait(device, in_flight.front());
    in_flight.pop_front();
    const std::uint32_t end = reinterpret_cast<const volatile std::uint32_t*>(step.mapped())[STEP_END];
    if (end <= tokens.size()) return std::nullopt;
    const std::int32_t token = reinterpret_cast<const volatile std::int32_t*>(token_buffer.mapped())[tokens.size()];
    tokens.push_back(token);
    return tokens.back();
}

// What the weights of a layer's rows are made from, by the name of the keys that these rows look at.
TapSource Session::State::source(std::int64_t layer, const std::string& keys) {
    const auto tensor = [&](const Value& value) {
        return TapSource::Data{bindings->buffers.at(value.name), value.type};
    };
    TapSource source;
    for (const Value& value : graph.values()) {
        if (value.kind != ValueKind::state) continue;
        if (value.name == model_names::watched_queries(layer)) source.q = tensor(value);
        if (value.name == model_names::watched_lse(layer)) source.lse = tensor(value);
        if (value.name == keys) source.k = tensor(value);
    }
    for (const Node& node : graph.nodes()) {
        if (std::string(node.op->name) != "attention") continue;
        if (graph.value(graph.storage(operand_named(node, "k"))).name != keys) continue;
        source.attrs = node.attrs;
        if (const int bias = operand_named(node, "position_bias"); bias >= 0)
            source.position_bias = tensor(graph.value(bias));
    }
    return source;
}

// How many of the first rows look at keys of their own.
std::int64_t Session::State::own_rows(std::int64_t layer) const {
    if (bindings->buffers.count(model_names::global_keys(layer)) == 0) return 0;
    return options.global_tokens.value_or(model.config().own.integer("global_tokens"));
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

Session::Session(const Model& model, const SessionOptions& options) : state_(std::make_unique<State>(model, options)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

void Session::restart(const Sampling& sampling) {
    State& s = *state_;
    if (!(sampling.temperature >= 0) || !(sampling.top_p >= 0 && sampling.top_p <= 1) ||
        !(sampling.min_p >= 0 && sampling.min_p <= 1) || sampling.top_k < 0 || !(sampling.repeat_penalty > 0))
        throw Error(ErrorKind::usage,
                    "sampling: temperature and top-k have to be at least 0, top-p and min-p between 0 and 1, the "
                    "repeat penalty above 0");
    s.finish_flight();
    s.replay.reset();
    s.sampling = sampling;
    s.sampling.top_k = std::min(sampling.top_k, s.model.config().vocab);
    s.tokens.clear();
    s.types.clear();
    s.forget_results();
    s.ended = s.step_current = false;
    s.stats = {};
    if (s.encodes()) return;
    const gpu::Buffer& seen = s.bindings->buffers.at(model_names::seen);
    gpu::fill(s.device, seen, 0, static_cast<std::uint64_t>((s.model.config().vocab + 31) / 32) * 4, 0);
}

void Session::append(std::span<const std::int32_t> ids, std::span<const std::int32_t> types) {
    State& s = *state_;
    if (!types.empty() && types.size() != ids.size())
        throw Error(ErrorKind::usage,
                    format("%zu tokens have %zu types; one for each is wanted", ids.size(), types.size()));
    for (std::int32_t type : types)
        if (type < 0 || type >= std::max<std::int64_t>(s.model.config().token_types, 1))
            throw Error(ErrorKind::usage,
                        format("token type %d is none of the %lld of %s", type,
                               static_cast<long long>(s.model.config().token_types), s.model.info().name.c_str()));
    for (std::int32_t id : ids)
        if (id < 0 || id >= s.model.config().vocab)
            throw Error(ErrorKind::usage,
                        format("token id %d is outside of the vocabulary of %s: 0 … %lld", id,
                               s.model.info().name.c_str(), static_cast<long long>(s.model.config().vocab - 1)));
    s.finish_flight();
    if (static_cast<std::int64_t>(s.tokens.size() + ids.size()) > s.context)
        throw Error(ErrorKind::usage,
                    format("%zu tokens do not fit the context of %lld (%zu are there); shorten the prompt%s",
                           ids.size(), static_cast<long long>(s.context), s.tokens.size(),
                           s.context < s.model.config().context ? ", or raise --ctx" : ""));
    s.tokens.insert(s.tokens.end(), ids.begin(), ids.end());
    s.types.insert(s.types.end(), types.begin(), types.end());
    s.types.resize(s.tokens.size());
    s.ended = s.step_current = false;
}

void Session::rewind(std::int64_t count) {
    State& s = *state_;
    if (count < 0 || count > static_cast<std::int64_t>(s.tokens.size()))
        throw Error(ErrorKind::usage, format("a session of %zu tokens cannot go back to token %lld", s.tokens.size(),
                                             static_cast<long long>(count)));
    s.finish_flight();
    s.replay.reset();
    s.tokens.resize(static_cast<std::size_t>(count));
    s.types.resize(s.tokens.size());
    s.ended = s.step_current = false;
    if (s.encodes()) return s.forget_results();
    s.processed = std::min(s.processed, count);
    const auto keep = [&](std::vector<float>& rows, std::int64_t width) {
        if (!rows.empty()) rows.resize(static_cast<std::size_t>(s.processed * width));
    };
    keep(s.logits, s.model.config().vocab);
    for (std::vector<float>& stream : s.hidden) keep(stream, s.model.config().width);
    for (std::vector<float>& stream : s.router) keep(stream, s.model.config().experts);
    s.mark_seen();
}

void Session::process() {
    State& s = *state_;
    if (static_cast<std::int64_t>(s.tokens.size()) == s.processed) return;
    if (s.encodes()) s.forget_results();
    s.run_prompt(false);
}

std::optional<std::int32_t> Session::next() {
    State& s = *state_;
    if (s.encodes())
        throw Error(ErrorKind::usage, s.model.info().name + " is an encoder (" + s.model.info().architecture +
                                          "): it draws no tokens, but inspect, embed and classify take it");
    if (s.tokens.empty()) throw Error(ErrorKind::usage, "there is nothing to continue: the prompt has no tokens");
    if (s.ended || context_full()) return std::nullopt;
    if (s.options.inspect) throw Error(ErrorKind::usage, "a session that inspects does not draw tokens");
    if (!s.step_current) {
        if (s.processed == static_cast<std::int64_t>(s.tokens.size()))
            --s.processed;  // all have run: the last one again, to draw
        s.run_prompt(true);
    }
    const double begin = now(), waited = gpu::seconds_waited();
    while (static_cast<int>(s.in_flight.size()) < run_ahead &&
           static_cast<std::int64_t>(s.tokens.size() + s.in_flight.size()) < s.context)
        s.submit_draw();
    const std::optional<std::int32_t> token = s.read_draw();
    const double seconds = now() - begin;
    s.stats.generate_seconds += seconds;
    s.stats.host_seconds += seconds - (gpu::seconds_waited() - waited);
    if (!token) {
        s.ended = true;
        return std::nullopt;
    }
    ++s.stats.generated_tokens;
    s.processed = static_cast<std::int64_t>(s.tokens.size()) - 1;
    const std::vector<std::int64_t>& ends = s.model.config().end_tokens;
    s.ended = !s.sampling.ignore_end && std::find(ends.begin(), ends.end(), *token) != ends.end();
    return token;
}

std::vector<std::int32_t> Session::generate(std::int64_t count, const std::function<bool(std::int32_t)>& on_token) {
    std::vector<std::int32_t> drawn;
    while (static_cast<std::int64_t>(drawn.size()) < count) {
        const std::optional<std::int32_t> token = next();
        if (!token) break;
        drawn.push_back(*token);
        if (on_token && !on_token(*token)) break;
    }
    return drawn;
}

const std::vector<std::int32_t>& Session::tokens() const { return state_->tokens; }
std::int64_t Session::context() const { return state_->context; }
bool Session::context_full() const { return static_cast<std::int64_t>(state_->tokens.size()) >= state_->context; }

bool Session::ended() const { return state_->ended || context_full(); }

std::vector<float> Session::attention(std::int64_t layer, std::int64_t head, std::int64_t first_row, std::int64_t rows,
                                      std::int64_t first_key, std::int64_t keys) {
    State& s = *state_;
    s.check_window(layer, head, first_row, rows, "rows");
    s.check_window(layer, head, first_key, keys, "keys");
    if (rows == 0 || keys == 0) return {};
    s.settle();
    if (!s.options.watch.includes(layer))
        return s.replay_watching(layer).attention(layer, head, first_row, rows, first_key, keys);
    const std::int64_t own = std::clamp<std::int64_t>(s.own_rows(layer) - first_row, 0, rows);
    std::vector<float> p =
        s.tap.weights(s.source(layer, model_names::global_keys(layer)), head, first_row, own, first_key, keys);
    const std::vector<float> others =
        s.tap.weights(s.source(layer, model_names::keys(layer)), head, first_row + own, rows - own, first_key, keys);
    p.insert(p.end(), others.begin(), others.end());
    return p;
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
    gpu::download(s.device, s.source(layer, model_names::keys(layer)).lse.buffer,
                  static_cast<std::uint64_t>(first_row * heads) * 4, std::as_writable_bytes(std::span(all)));
    for (std::int64_t row = 0; row < rows; ++row) some.push_back(all[static_cast<std::size_t>(row * heads + head)]);
    return some;
}

const std::vector<float>& Session::logits() const { return state_->logits; }
std::vector<float> Session::last_hidden() const { return state_->hidden.back(); }
std::vector<float> Session::hidden() const { return joined(state_->hidden); }
const std::vector<float>& Session::pooled() const { return state_->pooled; }
const std::vector<float>& Session::relation() const { return state_->relation; }
std::vector<float> Session::router_logits() const { return joined(state_->router); }

const Model& Session::model() const { return state_->model; }
const SessionStats& Session::stats() const { return state_->stats; }
std::int64_t Session::chunk(std::int64_t waiting) const { return state_->chunk_for(waiting); }
Plan& Session::plan(std::int64_t rows) { return state_->plan(rows); }
std::vector<DispatchTiming> Session::take_timings() { return std::exchange(state_->timings, {}); }

Session::Memory Session::memory() const {
    Memory m;
    for (const auto& [name, buffer] : state_->bindings->buffers) {
        if (state_->model.weights()->buffers.count(name) != 0) continue;
        (name.rfind("cache.", 0) == 0   ? m.cache
         : name.rfind("watch.", 0) == 0 ? m.watched
                                        : m.states) += buffer.bytes();
    }
    for (const auto& [rows, plan] : state_->plans) m.intermediates += plan->arena_bytes();
    return m;
}

}  // namespace vantage
