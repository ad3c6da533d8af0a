// Chat templates: the format of a conversation, as a Jinja template in the model's folder. runtime/text/jinja runs them
// in the environment that the transformers library provides.
// Source: https://huggingface.co/docs/transformers/chat_templating
#pragma once

#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/text/jinja/print.h"

namespace vantage::text {

/// Immutable after parsing: copies are cheap and may be used from several threads.
class ChatTemplate {
public:
    /// `name` names the template in messages. Throws bad_file for an invalid template, unsupported for an unsupported
    /// tag.
    static ChatTemplate parse(std::string_view source, const std::string& name);
    /// ChatML: <|im_start|>role, the text, <|im_end|>. For models trained on it whose folder has no template.
    static ChatTemplate chatml();
    /// The template as it was written.
    const std::string& source() const;

    /// Renders the template. `variables`: messages (a list of {"role", "content"} and other fields that the template
    /// uses), add_generation_prompt, bos_token and so on; missing ones are undefined. `now` is the date that the
    /// template may show. Throws usage if the template rejects the conversation, bad_file if it fails or exceeds the
    /// limits, unsupported for parts of Jinja that Vantage does not support.
    std::string render(const jinja::OrderedJson& variables, std::time_t now = std::time(nullptr),
                       const jinja::Limits& limits = {}) const;

private:
    struct State;
    explicit ChatTemplate(std::shared_ptr<const State> state) : state_(std::move(state)) {}
    std::shared_ptr<const State> state_;
};

/// What a model's folder contains about conversations.
struct ChatFormat {
    std::optional<ChatTemplate> chat_template;  ///< nothing if the folder has none
    jinja::OrderedJson tokens;                  ///< bos_token, eos_token and others that templates use
};
/// Reads chat_template.jinja, else "chat_template" of tokenizer_config.json (of several the one called "default"), and
/// the tokens of tokenizer_config.json. `with_template`: false if another template replaces it. Throws like parse().
ChatFormat read_chat_format(const std::string& folder, bool with_template = true);
/// The same of the text of a tokenizer_config.json alone, which messages call `name`.
ChatFormat parse_chat_format(std::string_view tokenizer_config, const std::string& name, bool with_template = true);

}  // namespace vantage::text
