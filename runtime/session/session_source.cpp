// The text that an encoder–decoder reads: its encoder runs once, and the decoder's layers take keys and values from it.
#include "runtime/session/session_state.h"

namespace vantage {

void Session::set_source(std::span<const std::int32_t> ids) {
    State& s = *state_;
    s.set_source(0, ids);
    s.replay.reset();
    s.stats = {};
    s.run_sources();
}

const std::vector<std::int32_t>& Session::source_tokens() const { return state_->sequence.source; }
std::vector<float> Session::encoder_hidden() const { return joined(state_->sequence.source_hidden); }

std::vector<float> Session::encoder_last_hidden() const {
    const Sequence& s = state_->sequence;
    return s.source_hidden.empty() ? std::vector<float>() : s.source_hidden.back();
}

Plan& Session::encoder_plan(std::int64_t tokens) {
    return state_->plan(state_->source, state_->encoder_plan_rows(tokens));
}

}  // namespace vantage
