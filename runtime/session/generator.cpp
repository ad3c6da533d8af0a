#include <algorithm>

#include "runtime/base/at.h"
#include "runtime/base/errors.h"
#include "runtime/base/interrupt.h"
#include "runtime/session/encode_text.h"
#include "runtime/session/model_access.h"
#include "runtime/session/session_core.h"
#include "runtime/session/text_stream.h"
#include "vantage/session.h"

namespace vantage {

const char* name_of(Ending ending) {
    static constexpr const char* names[] = {"length", "end token", "stop text", "context full", "stopped", "dead end"};
    return name_in(names, ending);
}

Sampling recommended_sampling(const Model& model) {
    const ModelConfig& config = config_of(model);
    Sampling sampling = default_sampling;
    if (config.temperature > 0) sampling.temperature = config.temperature;
    if (config.top_k > 0) sampling.top_k = config.top_k;
    if (config.top_p < 1) sampling.top_p = config.top_p;
    sampling.repeat_penalty = config.repetition_penalty;
    return sampling;
}

struct Generator::State {
    Sampling sampling;
    GeneratorOptions options;
    Session session;
    std::optional<TextStream> text;  // of the prompt that was last given

    State(const Model& m, const Sampling& s, GeneratorOptions o)
        : sampling(with_ends(s, o.end_tokens)), options(std::move(o)), session(m, session_options()) {}

    SessionOptions session_options() const {
        SessionOptions all = options.session;
        all.token_bias = all.token_bias || sampling.uses_bias();
        return all;
    }

    void begin(const std::string& prompt) {
        session.restart(sampling);
        begin(encode_for(session.context(), session.model().tokenizer(), prompt).ids);
    }

    void begin(std::span<const std::int32_t> ids) {
        if (config_of(session.model()).kind == ModelKind::encoder_decoder) {  // it reads the ids, and writes about them
            surviving_a_loss(session, options.reload, [&] {
                session.restart(sampling);
                begin_answer(session, ids);
            });
        } else {
            const std::vector<std::int32_t>& there = session.tokens();
            auto same = std::ranges::mismatch(there, ids).in1 - there.begin();
            if (same == std::ssize(ids) && same > 0) --same;  // at least one is appended, so that all count as given
            if (same == 0) session.restart(sampling);         // sets the sampling, too
            session.rewind(same);
            session.append(ids.subspan(static_cast<std::size_t>(same)));
        }
        text.emplace(session.model().tokenizer(), options);
    }

    void begin_about(std::span<const float> pixels) {
        const Model& model = session.model();
        if (config_of(model).is_vision())
            throw usage_error(described(model.info()) + " is an encoder: it writes nothing about an image");
        surviving_a_loss(session, options.reload, [&] {
            session.restart(sampling);
            session.set_image(pixels);
            append_forced_first(session);
        });
        text.emplace(session.model().tokenizer(), options);
    }

    std::optional<Token> advance() {
        if (!text || text->done()) return std::nullopt;
        throw_if_interrupted();
        const std::optional<std::int32_t> id =
            text->wants_more() ? surviving_a_loss(session, options.reload, [&] { return session.next(); })
                               : std::nullopt;
        return text->take(id, reason_to_end(session));
    }

    Ending go_on(const std::function<bool(const Token&)>& on_token) {
        while (const std::optional<Token> token = advance())
            if (!on_token(*token)) text->stop();
        return text->ending();
    }
};

Generator::Generator(const Model& model, const Sampling& sampling, GeneratorOptions options)
    : state_(std::make_unique<State>(model, sampling, std::move(options))) {}
Generator::~Generator() = default;
Generator::Generator(Generator&&) noexcept = default;
Generator& Generator::operator=(Generator&&) noexcept = default;

Generator::State& Generator::state() const {
    if (!state_) throw usage_error("this generator was moved from: use the one that it was moved to");
    return *state_;
}

Ending Generator::generate(const std::string& prompt, const std::function<bool(const Token&)>& on_token) {
    const SessionUse whole_call = state().session.use();
    state_->begin(prompt);
    return state_->go_on(on_token);
}

Ending Generator::generate(std::span<const std::int32_t> ids, const std::function<bool(const Token&)>& on_token) {
    const SessionUse whole_call = state().session.use();
    state_->begin(ids);
    return state_->go_on(on_token);
}

Ending Generator::describe(std::span<const float> pixels, const std::function<bool(const Token&)>& on_token) {
    const SessionUse whole_call = state().session.use();
    state_->begin_about(pixels);
    return state_->go_on(on_token);
}

std::string Generator::complete(const std::string& prompt) {
    std::string text;
    generate(prompt, [&](const Token& token) {
        text += token.text;
        return true;
    });
    return text;
}

Generator::Stream Generator::stream(const std::string& prompt) & {
    state().begin(prompt);
    return Stream(*this);
}

void Generator::Stream::advance() { current_ = generator_->state().advance(); }
Session& Generator::session() { return state().session; }

}  // namespace vantage
