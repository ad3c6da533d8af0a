// A conversation with a model: its history as the model's chat template writes it, and the replies.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/text/chat_template.h"
#include "vantage/session.h"

namespace vantage::cli {

class Conversation {
public:
    /// `format` has a template. An empty `system` says nothing.
    Conversation(Generator generator, text::ChatFormat format, const std::string& system);

    struct Turn {
        std::string reply;
        std::string ending;  ///< name_of(Ending), or "interrupted"
        std::int64_t prompt_tokens = 0, kept_tokens = 0, generated_tokens = 0;
    };
    /// What the model says to `text`; `on_text` gets it as it comes. Ctrl-C ends the reply alone: what there is of it stays in
    /// the history. Throws as ChatTemplate::render and Session::append; the history is then as before.
    Turn say(const std::string& text, const std::function<void(const std::string&)>& on_text);
    /// Back to the beginning.
    void reset();
    std::vector<DispatchTiming> take_timings() { return generator_.session().take_timings(); }
    std::int64_t context() { return generator_.session().context(); }

private:
    text::jinja::OrderedJson messages_, system_;
    text::ChatFormat format_;
    Generator generator_;

    std::vector<std::int32_t> tokens();
    Turn reply(const std::function<void(const std::string&)>& on_text);
};

/// What a template writes behind a reply ends one: adds it to the tokens, or texts, at which a generation ends. A model's own
/// files do not always name it.
void end_with_turn(const text::ChatFormat& format, const Tokenizer& tokenizer, GeneratorOptions& options);

}  // namespace vantage::cli
