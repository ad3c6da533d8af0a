// Conversations as a model's chat template writes them.
#pragma once

#include <string>

#include "runtime/text/chat_template.h"
#include "vantage/session.h"

namespace vantage::internal {

/// The chat template of a model's folder or GGUF file, or that of `wanted`: a Jinja file, or "chatml". Throws bad_file
/// where there is none, and as ChatTemplate::parse.
text::ChatFormat chat_format_of(const Model& model, const std::string& wanted = {});

/// The text of a list of messages, with what begins the reply if one follows. `more`: other variables of the template,
/// such as "tools". Throws as ChatTemplate::render.
std::string render_messages(const text::ChatFormat& chat, const text::jinja::OrderedJson& messages, bool reply_follows,
                            const text::jinja::OrderedJson& more = text::jinja::OrderedJson::object());

/// Adds what the template writes after a reply to the tokens or texts that end a generation, because the files of a
/// model do not always name it.
void end_with_turn(const text::ChatFormat& chat, const Tokenizer& tokenizer, GeneratorOptions& options);

}  // namespace vantage::internal
