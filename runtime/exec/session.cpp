#include "vantage/session.h"

#include <algorithm>

#include "runtime/base/log.h"
#include "runtime/base/os.h"
#include "runtime/exec/session_state.h"
#include "runtime/gpu/commands.h"

namespace vantage {

namespace {

constexpr int run_ahead = 2;  // generated tokens submitted before the first of them is read

std::vector<float> joined(const std::vector<std::vector<float>>& parts) {
    std::vector<float> all;
    for (const std::vector<float>& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

}  // namespace

Precision precision_named(const std::string& name) {
    if (name == "f16") return Precision::f16;
    if (name == "f32") return Precision::f32;
    throw Error(ErrorKind::usage, "precision \"" + name + "\" is not known; there are f16 and f32");
}

bool Watch::includes(std::int64_t layer) const {
    return every || std::find(layers.begin(), layers.end(), layer) != layers.end();
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
    s.source_tokens.clear();
    for (std::vector<float>& stream : s.source_hidden) stream.clear();
    s.forget_results();
    s.ended = s.step_current = false;
    s.stats = {};
    if (s.encodes()) return;
    const gpu::Buffer& seen = s.bindings->buffers.at(model_names::seen);
    gpu::fill(s.device, seen, 0, static_cast<std::uint64_t>((s.model.config().vocab + 31) / 32) * 4, 0);
}

void Session::State::check_global_tokens() const {
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

void Session::State::check_ids(std::span<const std::int32_t> ids) const {
    for (std::int32_t id : ids)
        if (id < 0 || id >= model.config().vocab)
            throw Error(ErrorKind::usage,
                        format("token id %d is outside of the vocabulary of %s: 0 … %lld", id,
                               model.info().name.c_str(), static_cast<long long>(model.config().vocab - 1)));
}

void Session::State::check_room(std::size_t there, std::size_t more) const {
    if (static_cast<std::int64_t>(there + more) > context)
        throw Error(
            ErrorKind::usage,
            format("%zu tokens do not fit the context of %lld (%zu are there); shorten the prompt%s", more,
                   static_cast<long long>(context), there, context < model.config().context ? ", or raise --ctx" : ""));
}

void Session::append(std::span<const std::int32_t> ids, std::span<const std::int32_t> types) {
    State& s = *state_;
    if (s.sees())
        throw Error(ErrorKind::usage,
                    s.model.info().name + " looks at images (" + s.model.info().architecture + "): it takes no tokens");
    if (!types.empty() && types.size() != ids.size())
        throw Error(ErrorKind::usage,
                    format("%zu tokens have %zu types; one for each is wanted", ids.size(), types.size()));
    for (std::int32_t type : types)
        if (type < 0 || type >= std::max<std::int64_t>(s.model.config().token_types, 1))
            throw Error(ErrorKind::usage,
                        format("token type %d is none of the %lld of %s", type,
                               static_cast<long long>(s.model.config().token_types), s.model.info().name.c_str()));
    s.check_ids(ids);
    s.finish_flight();
    s.check_room(s.tokens.size(), ids.size());
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
    if (s.sees() && count > 0 && count < s.context)
        throw Error(ErrorKind::usage, s.model.info().name + " looks at whole images: it cannot go back into one");
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
    s.require_source();
    if (static_cast<std::int64_t>(s.tokens.size()) == s.processed) return;
    if (s.encodes()) s.forget_results();
    s.run_prompt(false);
}

std::optional<std::int32_t> Session::next() {
    State& s = *state_;
    if (s.encodes())
        throw Error(ErrorKind::usage, s.model.info().name + " is an encoder (" + s.model.info().architecture +
                                          "): it draws no tokens, but inspect, embed and classify take it");
    s.require_source();
    if (s.tokens.empty()) throw Error(ErrorKind::usage, "there is nothing to continue: the prompt has no tokens");
    if (s.ended || context_full()) return std::nullopt;
    if (s.options.inspect) throw Error(ErrorKind::usage, "a session that inspects does not draw tokens");
    if (!s.step_current) {
        if (s.processed == static_cast<std::int64_t>(s.tokens.size()))
            --s.processed;  // all have run: the last one again, to draw
        s.run_prompt(true);
    }
    const double begin = seconds_now(), waited = gpu::seconds_waited();
    while (static_cast<int>(s.in_flight.size()) < run_ahead &&
           static_cast<std::int64_t>(s.tokens.size() + s.in_flight.size()) < s.context)
        s.submit_draw();
    const std::optional<std::int32_t> token = s.read_draw();
    const double seconds = seconds_now() - begin;
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

const std::vector<float>& Session::logits() const { return state_->logits; }
std::vector<float> Session::last_hidden() const {
    return state_->last_hidden.empty() ? state_->hidden.back() : state_->last_hidden;
}
std::vector<float> Session::hidden() const { return joined(state_->hidden); }
const std::vector<float>& Session::pooled() const { return state_->pooled; }
const std::vector<float>& Session::relation() const { return state_->relation; }
std::vector<float> Session::router_logits() const { return joined(state_->router); }

const Model& Session::model() const { return state_->model; }
const SessionStats& Session::stats() const { return state_->stats; }
std::int64_t Session::chunk(std::int64_t waiting) const { return state_->chunk_for(waiting); }
Plan& Session::plan(std::int64_t rows) { return state_->plan(state_->own, rows); }
std::vector<DispatchTiming> Session::take_timings() { return std::exchange(state_->timings, {}); }

Session::Memory Session::memory() const {
    Memory m;
    for (const auto& [name, buffer] : state_->bindings->buffers) {
        if (state_->model.weights()->buffers.count(name) != 0) continue;
        (name.rfind("cache.", 0) == 0   ? m.cache
         : name.rfind("watch.", 0) == 0 ? m.watched
                                        : m.states) += buffer.bytes();
    }
    for (const State::Side* side : {&state_->own, &state_->source})
        for (const auto& [rows, plan] : side->plans) m.intermediates += plan->arena_bytes();
    return m;
}

}  // namespace vantage
