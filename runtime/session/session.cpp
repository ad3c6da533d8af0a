#include "vantage/session.h"

#include <algorithm>

#include "runtime/session/session_state.h"

namespace vantage {

Precision precision_named(const std::string& name) {
    if (name == "f16") return Precision::f16;
    if (name == "f32") return Precision::f32;
    if (name == "int8") return Precision::int8;
    throw Error(ErrorKind::usage, "precision \"" + name + "\" is not known; there are f16, f32 and int8");
}

bool RecordAttention::includes(std::int64_t layer) const {
    return every || std::find(layers.begin(), layers.end(), layer) != layers.end();
}

Session::Session(const Model& model, const SessionOptions& options) : state_(std::make_unique<State>(model, options)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

void Session::restart(const Sampling& sampling) {
    State& s = *state_;
    s.restart(0, sampling);
    s.replay.reset();
    s.stats = {};
}

void Session::append(std::span<const std::int32_t> ids, std::span<const std::int32_t> types) {
    state_->append(0, ids, types);
}

void Session::rewind(std::int64_t count) {
    state_->rewind(0, count);
    state_->replay.reset();
}

void Session::run() { state_->run(); }
std::optional<std::int32_t> Session::next() { return state_->next().front(); }

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

const std::vector<std::int32_t>& Session::tokens() const { return state_->sequence.tokens; }
std::int64_t Session::processed() const { return state_->sequence.processed; }
std::uint64_t Session::forgotten() const { return state_->sequence.forgotten; }
std::int64_t Session::context() const { return state_->context; }
bool Session::context_full() const { return state_->sequence.size() >= state_->context; }

bool Session::ended() const { return state_->sequence.ended || context_full(); }

const std::vector<float>& Session::logits() const { return state_->sequence.logits; }
std::vector<float> Session::last_hidden() const { return state_->sequence.end_of_stream(); }
std::vector<float> Session::hidden() const { return joined(state_->sequence.hidden); }
const std::vector<float>& Session::pooled() const { return state_->sequence.pooled; }
const std::vector<float>& Session::relation() const { return state_->sequence.relation; }
std::vector<float> Session::router_logits() const { return joined(state_->sequence.router); }

const Model& Session::model() const { return state_->model; }
const SessionStats& Session::stats() const { return state_->stats; }
std::int64_t Session::chunk(std::int64_t waiting) const { return state_->chunk_for(waiting); }
Plan& Session::plan(std::int64_t rows) { return state_->plan(state_->own, rows); }
std::vector<DispatchTiming> Session::take_timings() { return std::exchange(state_->timings, {}); }
Session::Memory Session::memory() const { return state_->memory(); }

}  // namespace vantage
