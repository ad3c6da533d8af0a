// How conversations with a model are written: its chat template, what its replies look like, and how functions that it
// may call are told to it.
#pragma once

#include <string>

#include "runtime/base/json.h"
#include "runtime/text/chat_template.h"
#include "runtime/text/reply/reply_format.h"
#include "vantage/session.h"

namespace vantage::internal {

struct ChatStyle {
    ChatStyle(text::ChatFormat chat, const Tokenizer& tokenizer);

    const text::ChatFormat format;
    GeneratorOptions ends;           ///< what ends a reply besides the model's end tokens
    text::reply::ReplyFormat reply;  ///< with the calls that we explain, where the template has no functions
    bool has_functions = false;      ///< the template writes `tools`
    bool object_arguments = true;    ///< it wants arguments of calls as objects, not as texts
};

/// The text of messages, whose calls have their arguments as objects. `tools`: OpenAI's list, or null. `more`: other
/// variables of the template. Throws as ChatTemplate::render.
std::string render_chat(const ChatStyle& chat, OrderedJson messages, const OrderedJson& tools, const OrderedJson& more,
                        bool reply_follows);

}  // namespace vantage::internal
