// The text of a sequence as its tokens are drawn, up to where it ends.
#pragma once

#include <functional>
#include <string>

#include "runtime/base/log.h"
#include "vantage/session.h"

namespace vantage::internal {

/// Why a sequence would end that draws no token.
inline Ending reason_to_end(const Sequence& s) {
    if (s.dead_end()) return Ending::dead_end;
    return s.context_full() ? Ending::context_full : s.ended() ? Ending::end_token : Ending::length;
}

/// The sampling of a text that these tokens end, too.
inline Sampling with_ends(Sampling sampling, const std::vector<std::int32_t>& end_tokens) {
    if (sampling.grammar && sampling.grammar_ends.empty()) sampling.grammar_ends = end_tokens;
    return sampling;
}

/// Gives an encoder–decoder the text that it answers; the sequence begins with the tokens that its answers begin with.
void begin_answer(Sequence& s, std::span<const std::int32_t> source);
/// Behind the start token, the token that every text of the model begins with, if there is one.
void append_forced_first(Sequence& s);

/// What `call` returns. Where it loses the device, `sessions` recover by `reload` (GeneratorOptions::reload) and it is
/// called again; a second loss is thrown.
template <class Sessions, class Call>
auto surviving_a_loss(Sessions& sessions, const std::function<Model()>& reload, Call call) {
    try {
        return call();
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::device_lost || !reload) throw;
        log(LogLevel::warning, "recovering: {}", error.what());
    }
    sessions.recover(reload);
    return call();
}

/// Gives out whole characters only, and nothing that may yet turn out to be the beginning of a stop text.
class TextStream {
public:
    TextStream(const Tokenizer& tokenizer, const GeneratorOptions& options)
        : options_(&options), decoder_(tokenizer, true, options.shown_tokens) {}
    bool done() const { return done_; }
    Ending ending() const { return ending_; }
    bool wants_more() const { return !done_ && drawn_ < options_->max_tokens; }
    /// What the next token completes. Where none was drawn the text ends for the reason `why`, and the rest comes.
    std::optional<Token> take(std::optional<std::int32_t> id, Ending why);
    /// The caller wants no more.
    void stop();

private:
    std::string release(const std::string& text);
    std::optional<Token> end_with(Ending why);

    const GeneratorOptions* options_;
    StreamDecoder decoder_;
    std::string held_;
    std::int64_t drawn_ = 0;
    Ending ending_ = Ending::length;
    bool done_ = false;
};

}  // namespace vantage::internal
