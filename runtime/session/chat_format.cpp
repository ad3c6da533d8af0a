#include "runtime/session/chat_format.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/base/files.h"
#include "runtime/checkpoint/gguf_model.h"
#include "runtime/checkpoint/gguf_tokenizer.h"

namespace vantage::internal {

using text::jinja::OrderedJson;

text::ChatFormat chat_format_of(const Model& model, const std::string& wanted) {
    const std::string& folder = model.info().directory;
    text::ChatFormat chat = is_gguf(folder)
                                ? text::parse_chat_format(gguf_tokenizer_config(Gguf(folder)), folder, wanted.empty())
                                : text::read_chat_format(folder, wanted.empty());
    if (wanted == "chatml")
        chat.chat_template = text::ChatTemplate::chatml();
    else if (!wanted.empty())
        chat.chat_template = text::ChatTemplate::parse(read_file(wanted, std::size_t{16} << 20), wanted);
    if (!chat.chat_template)
        throw bad_file_error(
            "{}: there is no chat template ({}), so this is not a chat model; continue a text with `vantage run`, or "
            "give --template FILE or --template chatml",
            folder,
            is_gguf(folder) ? "tokenizer.chat_template"
                            : "chat_template.jinja, or chat_template in tokenizer_config.json");
    return chat;
}

std::string render_messages(const text::ChatFormat& chat, const OrderedJson& messages, bool reply_follows,
                            const OrderedJson& more) {
    OrderedJson variables = chat.tokens;
    variables["tools"] = nullptr;  // defined, but null, as in transformers
    variables["documents"] = nullptr;
    for (const auto& [name, value] : more.items()) variables[name] = value;
    variables["messages"] = messages;
    variables["add_generation_prompt"] = reply_follows;
    return chat.chat_template.value().render(variables);
}

void end_with_turn(const text::ChatFormat& chat, const Tokenizer& tokenizer, GeneratorOptions& options) {
    const std::string mark = "reply";
    const OrderedJson turn = {{{"role", "user"}, {"content", "text"}}, {{"role", "assistant"}, {"content", mark}}};
    std::string after;
    try {
        after = render_messages(chat, turn, false);
    } catch (const Error&) {
        return;  // a template that needs more fails at the first turn
    }
    const std::size_t at = after.rfind(mark);
    if (at == std::string::npos) return;
    after.erase(0, at + mark.size());
    after.erase(0, std::min(after.find_first_not_of(" \n"), after.size()));
    after.erase(std::min(after.find_first_of(" \n"), after.size()));
    if (after.empty()) return;
    const std::vector<std::int32_t> ids = tokenizer.encode(after, false).ids;
    if (ids.empty()) return;  // a vocabulary without these characters: they are never drawn
    if (tokenizer.is_special(ids.front()))
        options.end_tokens.push_back(ids.front());
    else
        options.stop.push_back(after);
}

}  // namespace vantage::internal
