// The text that an encoder–decoder reads: its encoder runs once, and the decoder's layers take keys and values from it.
#include <cstring>

#include "runtime/base/log.h"
#include "runtime/base/os.h"
#include "runtime/exec/session_state.h"
#include "runtime/gpu/commands.h"
#include "shaders/params/step.h"

namespace vantage {

void Session::State::require_source() const {
    if (translates() && source_tokens.empty())
        throw Error(ErrorKind::usage, model.info().name + " is an encoder–decoder (" + model.info().architecture +
                                          "): it writes about a text, which encode() gives it first");
}

void Session::State::run_source(std::span<const std::int32_t> ids) {
    const std::int64_t count = std::ssize(ids);
    double begin = seconds_now();
    Plan& p = plan(source, one_piece(count));
    stats.compile_seconds += seconds_now() - begin;
    begin = seconds_now();
    std::uint32_t words[STEP_WORDS] = {};
    words[STEP_END] = static_cast<std::uint32_t>(count);
    words[STEP_LIMIT] = static_cast<std::uint32_t>(context);
    std::memcpy(source.step.mapped(), words, sizeof words);
    std::memcpy(source.tokens.mapped(), ids.data(), ids.size_bytes());
    const auto length = static_cast<std::int32_t>(count);
    std::memcpy(bindings->buffers.at(model_names::source_length).mapped(), &length, sizeof length);
    const int segments[] = {model_names::body, model_names::head};
    p.wait(p.submit(segments, filled(count)));
    if (options.profile) {
        const std::vector<DispatchTiming> some = p.timings();
        timings.insert(timings.end(), some.begin(), some.end());
    }
    for (std::size_t i = 0; i < source_hidden.size(); ++i)
        if (const std::string name = model_names::hidden(static_cast<std::int64_t>(i));
            p.graph().outputs().count(name) != 0)
            source_hidden[i] = p.read_rows(name, count);
    source_tokens.assign(ids.begin(), ids.end());
    stats.prompt_tokens += count;
    stats.prompt_seconds += seconds_now() - begin;
}

void Session::encode(std::span<const std::int32_t> ids) {
    State& s = *state_;
    if (!s.translates())
        throw Error(ErrorKind::usage, s.model.info().name + " (" + s.model.info().architecture +
                                          ") is no encoder–decoder: it has no encoder that reads another text");
    if (ids.empty()) throw Error(ErrorKind::usage, "there is nothing to read: the text has no tokens");
    s.check_ids(ids);
    s.check_room(0, ids.size());
    restart(s.sampling);
    s.run_source(ids);
    const auto start = static_cast<std::int32_t>(s.model.config().start_token);
    append(std::span(&start, 1));
}

const std::vector<std::int32_t>& Session::source_tokens() const { return state_->source_tokens; }

std::vector<float> Session::encoder_hidden() const {
    std::vector<float> all;
    for (const std::vector<float>& stream : state_->source_hidden) all.insert(all.end(), stream.begin(), stream.end());
    return all;
}

std::vector<float> Session::encoder_last_hidden() const {
    return state_->source_hidden.empty() ? std::vector<float>() : state_->source_hidden.back();
}

Plan& Session::encoder_plan(std::int64_t tokens) { return state_->plan(state_->source, state_->one_piece(tokens)); }

}  // namespace vantage
