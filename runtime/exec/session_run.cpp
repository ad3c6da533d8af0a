// How a session runs its tokens: its states on the device, its plans by size, prompts in chunks, drawn tokens ahead.
#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/base/fallback.h"
#include "runtime/base/log.h"
#include "runtime/base/options.h"
#include "runtime/base/os.h"
#include "runtime/exec/guard.h"
#include "runtime/exec/session_state.h"
#include "runtime/gpu/commands.h"
#include "runtime/models/architecture.h"
#include "shaders/params/step.h"

namespace vantage {

namespace {

constexpr std::int64_t chunk_sizes[] = {1, 8, 32, 128, 512};
constexpr double share_of_memory = 0.5;  // of what is available, that an unasked-for context may take

}  // namespace

// What a session keeps on the device for one token of its context: caches, watched rows, tables, the token.
std::uint64_t Session::State::bytes_per_token() const {
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
        if (translates()) add(true);
        std::uint64_t sum = 0;
        for (const auto& [name, size] : bytes) sum += size;
        return sum;
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
    if (sees()) return c.context;
    if (options.context > 0) return options.context;
    const std::uint64_t each = bytes_per_token();
    const auto holds = static_cast<std::int64_t>(
        share_of_memory * static_cast<double>(model.device().memory_available()) / static_cast<double>(each));
    const std::int64_t usual = c.usual_context > 0 ? c.usual_context : c.context;
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
    for (const Graph* graph : {&own.graph, &source.graph})
        for (const Value& value : graph->values()) {
            if (value.kind != ValueKind::state && value.kind != ValueKind::constant) continue;
            if (bindings->buffers.count(value.name) == 0)
                bindings->buffers[value.name] = allocate_value(device, value, guard);
        }
    own.step = bindings->buffers.at(model_names::step);
    own.tokens = bindings->buffers.at(model_names::tokens);
    if (!translates()) return;
    source.step = bindings->buffers.at(model_names::source_step);
    source.tokens = bindings->buffers.at(model_names::source_tokens);
}

Plan& Session::State::plan(Side& side, std::int64_t rows) {
    if (const auto made = side.plans.find(rows); made != side.plans.end()) return *made->second;
    auto made = std::make_unique<Plan>(model.graph(build_options(rows, side.encoder)), model.device(),
                                       CompileOptions{.fuse = options.fuse,
                                                      .profile = options.profile,
                                                      .guard = options.guard,
                                                      .submission_seconds = options.submission_seconds},
                                       bindings);
    return *(side.plans[rows] = std::move(made));
}

// Rows of an encoder's plan for a text: the first tokens see the last.
std::int64_t Session::State::one_piece(std::int64_t waiting) const {
    std::int64_t size = chunk_sizes[1];
    while (size < waiting) size *= 2;
    return size;
}

// The smallest size that holds all that waits, unless it would be padding for the most part.
std::int64_t Session::State::chunk_for(std::int64_t waiting) const {
    if (sees()) return context;
    if (encodes()) return one_piece(waiting);
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
    auto* words = reinterpret_cast<std::uint32_t*>(own.step.mapped());
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
    std::memcpy(own.tokens.mapped(), tokens.data(), tokens.size() * sizeof(std::int32_t));
    if (const auto place = bindings->buffers.find(model_names::types); place != bindings->buffers.end())
        std::memcpy(place->second.mapped(), types.data(), types.size() * sizeof(std::int32_t));
    if (const auto place = bindings->buffers.find(model_names::positions); place != bindings->buffers.end()) {
        const std::vector<std::int32_t> positions = token_positions(c, tokens);
        std::memcpy(place->second.mapped(), positions.data(), positions.size() * sizeof(std::int32_t));
    }
    if (sees())
        std::memcpy(bindings->buffers.at(model_names::pixels).mapped(), pixels.data(), pixels.size() * sizeof(float));
}

void Session::State::forget_results() {
    for (std::vector<float>* result : {&logits, &pooled, &relation, &last_hidden}) result->clear();
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
    append(last_hidden, model_names::last_hidden, rows);
    for (std::size_t i = 0; i < hidden.size(); ++i)
        append(hidden[i], model_names::hidden(static_cast<std::int64_t>(i)), rows);
    for (std::size_t i = 0; i < router.size(); ++i)
        append(router[i], model_names::router(static_cast<std::int64_t>(i)), rows);
}

// One run of `rows` tokens by the plan for `size`, the rest padding; on with the output head where it is wanted.
void Session::State::run_chunk(std::int64_t size, std::int64_t rows, bool draw) {
    Plan& p = plan(own, size);
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
    const double begin = seconds_now();
    for (std::int64_t size = 0; left > 0; left -= size) {
        throw_if_interrupted();
        plan(own, size = chunk_for(left));
    }
    if (draw) plan(own, 1);
    stats.compile_seconds += seconds_now() - begin;
}

// Runs what waits, chunk by chunk; the last one draws the next token when asked to, and stays in flight.
void Session::State::run_prompt(bool draw) {
    std::int64_t left = static_cast<std::int64_t>(tokens.size()) - processed;
    make_plans(left, draw);
    const double begin = seconds_now();
    if (!translates()) stats.prompt_tokens += left;  // else the prompt is what the encoder has read
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
    stats.prompt_seconds += seconds_now() - begin;
}

void Session::State::submit_draw() {
    const int segments[] = {model_names::body, model_names::head};
    Plan& p = plan(own, 1);
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
    const std::uint32_t end = reinterpret_cast<const volatile std::uint32_t*>(own.step.mapped())[STEP_END];
    if (end <= tokens.size()) return std::nullopt;
    const std::int32_t token = reinterpret_cast<const volatile std::int32_t*>(own.tokens.mapped())[tokens.size()];
    tokens.push_back(token);
    return tokens.back();
}

}  // namespace vantage
