// A conversation with a model: the history, rendered by the model's chat template, and the replies.
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
    /// `format` must have a template. An empty `system` adds no message.
    Conversation(Generator generator, text::ChatFormat format, const std::string& system);

    struct Turn {
        std::string reply;
        std::string ending;  ///< name_of(Ending), or "interrupted"
        std::int64_t prompt_tokens = 0, kept_tokens = 0, generated_tokens = 0;
    };
    /// The reply to `text`; `on_text` receives it piece by piece. Ctrl-C ends the reply, and its text so far stays in
    /// the history. Throws like ChatTemplate::render and Session::append; the history is then unchanged.
    Turn say(const std::string& text, const std::function<void(const std::string&)>& on_text);
    /// Clears the history, except the system message.
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

}  // namespace vantage::cli
