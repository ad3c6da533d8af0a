#include "vantage/session.h"

#include <algorithm>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/session/session_state.h"

namespace vantage {

namespace {

constexpr const char* precision_names[] = {"f16", "f32", "int8"};  // by number

}  // namespace

Precision precision_named(const std::string& name) {
    const auto* const found = std::ranges::find(precision_names, name);
    if (found == std::end(precision_names))
        throw usage_error("precision \"{}\" is not known; there are {}", name, join(precision_names));
    return static_cast<Precision>(found - precision_names);
}

const char* name_of(Precision precision) { return name_in(precision_names, precision); }

bool RecordAttention::includes(std::int64_t layer) const {
    return every || std::ranges::find(layers, layer) != layers.end();
}

Session::Session(const Model& model, const SessionOptions& options)
    : Sequence(std::make_shared<SessionOwner>(std::make_unique<SessionCore>(model, options, 1, true)), 0),
      state_(std::make_unique<State>(*use())) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&& other) noexcept {
    state_ = std::move(other.state_);  // the old one is part of the old core
    Sequence::operator=(std::move(other));
    return *this;
}

void Session::set_image(std::span<const float> pixels) {
    const auto core = use();
    core->set_image(pixels);
    core->runs.run_sources();
}
void Session::mask_heads(std::span<const HeadId> heads) { use()->mask_heads(heads); }
void Session::shift_head(const HeadShift& shift) { use()->shift_head(shift); }

void Session::recover(const std::function<Model()>& reload) {
    const SessionUse call(core_, true);
    state_.reset();  // part of the old core
    call.owner().recover(reload);
    state_ = std::make_unique<State>(*call);
    call->run_lost();
}

void Session::run() { use()->run(); }
std::optional<std::int32_t> Session::next() { return use()->next().front(); }

std::vector<std::int32_t> Session::generate(std::int64_t count, const std::function<bool(std::int32_t)>& on_token) {
    const SessionUse whole_call = use();
    std::vector<std::int32_t> drawn;
    while (std::ssize(drawn) < count) {
        const std::optional<std::int32_t> token = next();
        if (!token) break;
        drawn.push_back(*token);
        if (on_token && !on_token(*token)) break;
    }
    return drawn;
}

const SessionStats& Session::stats() const { return use()->runs.stats(); }
SessionMemory Session::memory() const { return use()->memory(); }
std::int64_t Session::chunk(std::int64_t waiting) const { return use()->runs.rows_for(waiting); }
Plan& Session::plan(std::int64_t rows) {
    const SessionUse core = use();
    if (rows < 1) throw usage_error("a plan of {} rows was asked for; it has at least 1", rows);
    return core->plans.get({.rows = rows});
}
Plan& Session::encoder_plan(std::int64_t tokens) {
    const SessionUse core = use();
    if (!core->is_encoder_decoder())
        throw usage_error("a plan of an encoder was asked for, but {} is no encoder–decoder: use plan()",
                          model().info().name);
    const std::int64_t most = core->config.sees() ? core->config.image.places() : core->context;
    if (tokens < 1 || tokens > most)
        throw usage_error("a plan for a text of {} tokens was asked for; it has 1 to {}", tokens, most);
    return core->plans.get({.rows = core->runs.source_rows_for(tokens), .encoder = true});
}
std::vector<DispatchTiming> Session::take_timings() { return use()->runs.take_timings(); }

}  // namespace vantage
