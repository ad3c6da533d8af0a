// Chat templates: how a model wants a conversation to be written, as a Jinja template in its folder. Read and run by
// runtime/text/jinja, in the environment that the library transformers gives them.
// Source: https://huggingface.co/docs/transformers/chat_templating
#pragma once

#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/text/jinja/print.h"

namespace vantage::text {

/// Never changed after parsing: copies are free and may be used from several threads at once.
class ChatTemplate {
public:
    /// `name` stands for the template in messages. Throws bad_file for what is no template, unsupported for a tag that is
    /// not built.
    static ChatTemplate parse(std::string_view source, const std::string& name);
    /// ChatML: <|im_start|>role, the text, <|im_end|>. For models that were trained on it and do not say so.
    static ChatTemplate chatml();

    /// The text for `variables`: messages (a list of {"role", "content"} and whatever the template asks for more),
    /// add_generation_prompt, bos_token and the like; what is not given is undefined. `now` is what the template may show
    /// as the date. Throws usage where the template refuses the conversation, bad_file where it cannot be run or does not
    /// end, unsupported for what is not built.
    std::string render(const jinja::OrderedJson& variables, std::time_t now = std::time(nullptr),
                       const jinja::Limits& limits = {}) const;

private:
    struct State;
    explicit ChatTemplate(std::shared_ptr<const State> state) : state_(std::move(state)) {}
    std::shared_ptr<const State> state_;
};

/// What a model's folder says about conversations.
struct ChatFormat {
    std::optional<ChatTemplate> chat_template;  ///< nothing: the model has none
    jinja::OrderedJson tokens;                  ///< bos_token, eos_token …: texts that templates ask for
};
/// Reads chat_template.jinja, else "chat_template" of tokenizer_config.json (of several the one called "default"); the
/// tokens are tokenizer_config.json's. `with_template`: false where another template takes its place. Throws as parse().
ChatFormat read_chat_format(const std::string& folder, bool with_template = true);

}  // namespace vantage::text
