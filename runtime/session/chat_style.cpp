#include "runtime/session/chat_style.h"

#include <utility>

#include "runtime/session/chat_format.h"
#include "runtime/text/jinja/print.h"

namespace vantage::internal {

namespace {

// As Python's json.dumps writes it, which models were trained with.
std::string as_text(const OrderedJson& json) {
    text::jinja::Budget budget{text::jinja::Limits()};
    try {
        return text::jinja::to_json(text::jinja::from_json(json, budget), {}, budget);
    } catch (const text::jinja::Problem& problem) {
        throw Error(problem.kind, "the conversation: " + problem.what);
    }
}

OrderedJson user_message(std::string content) { return {{"role", "user"}, {"content", std::move(content)}}; }

// Whether the text that a template makes of something has `needle`.
bool shows(const ChatStyle& chat, const OrderedJson& messages, const OrderedJson& more, const std::string& needle) {
    try {
        return render_messages(chat.format, messages, false, more).find(needle) != std::string::npos;
    } catch (const Error&) {
        return false;
    }
}

bool shows_functions(const ChatStyle& chat) {
    const OrderedJson parameters = {{"type", "object"}, {"properties", OrderedJson::object()}};
    const OrderedJson function = {{"name", "needle"}, {"description", "It is found."}, {"parameters", parameters}};
    return shows(chat, OrderedJson::array({user_message("text")}),
                 {{"tools", OrderedJson::array({{{"type", "function"}, {"function", function}}})}}, "needle");
}

// A template that writes arguments as JSON makes a text of a text, in quotes.
bool shows_arguments(const ChatStyle& chat, const OrderedJson& arguments) {
    const OrderedJson function = {{"name", "find"}, {"arguments", arguments}};
    const OrderedJson call = {{"id", "call00000"}, {"type", "function"}, {"function", function}};
    const OrderedJson message = {{"role", "assistant"}, {"content", ""}, {"tool_calls", OrderedJson::array({call})}};
    return shows(chat, OrderedJson::array({user_message("text"), message}), OrderedJson::object(), "\"needle\":");
}

// ---- functions for templates that have none -------------------------------------------------------------------------

std::string functions_prompt(const OrderedJson& tools) {
    std::string text =
        "# Tools\n\nYou may call functions to help with the request. These are their signatures:\n<tools>\n";
    for (const OrderedJson& tool : tools) text += as_text(tool) + "\n";
    return text +
           "</tools>\n\nFor each call, return a JSON object with the name of the function and its arguments, like "
           "this:\n<tool_call>\n{\"name\": <function-name>, \"arguments\": <object>}\n</tool_call>";
}

std::string written_calls(const OrderedJson& message, const text::reply::CallSyntax& syntax) {
    std::string text = message.value("content", std::string());
    for (const OrderedJson& call : message["tool_calls"]) {
        const OrderedJson& function = call["function"];
        if (!text.empty()) text += "\n";
        text += std::string(syntax.open) + function["name"].get<std::string>() + std::string(syntax.middle) +
                as_text(function["arguments"]) + std::string(syntax.close);
    }
    return text;
}

// Calls as text of the assistant, their results as messages of the user, the functions before all.
OrderedJson explained(const OrderedJson& messages, const OrderedJson& tools, const text::reply::CallSyntax& syntax) {
    OrderedJson all = OrderedJson::array();
    bool after_result = false;
    for (const OrderedJson& message : messages) {
        const bool is_result = message["role"] == "tool", goes_on = std::exchange(after_result, is_result);
        if (is_result) {
            const std::string result =
                "<tool_response>\n" + message["content"].get<std::string>() + "\n</tool_response>";
            if (goes_on)
                all.back()["content"] = all.back()["content"].get<std::string>() + "\n" + result;
            else
                all.push_back(user_message(result));
        } else if (message.contains("tool_calls")) {
            all.push_back({{"role", "assistant"}, {"content", written_calls(message, syntax)}});
        } else {
            all.push_back(message);
        }
    }
    if (tools.is_null()) return all;
    for (OrderedJson& message : all) {
        if (message["role"] != "system" && message["role"] != "user") continue;
        const std::string prompt = functions_prompt(tools), content = message["content"].get<std::string>();
        message["content"] = message["role"] == "system" ? content + "\n\n" + prompt : prompt + "\n\n" + content;
        break;
    }
    return all;
}

}  // namespace

ChatStyle::ChatStyle(text::ChatFormat chat, const Tokenizer& tokenizer)
    : format(std::move(chat)), reply(text::reply::reply_format_of(format.chat_template.value().source(), tokenizer)) {
    end_with_turn(format, tokenizer, ends);
    has_functions = shows_functions(*this);
    if (!has_functions && !reply.has_channels) text::reply::use_explained_calls(reply, tokenizer);
    object_arguments =
        shows_arguments(*this, {{"needle", 1}}) || !shows_arguments(*this, OrderedJson(R"({"needle": 1})"));
}

std::string render_chat(const ChatStyle& chat, OrderedJson messages, const OrderedJson& tools, const OrderedJson& more,
                        bool reply_follows) {
    if (!chat.has_functions && chat.reply.calls) messages = explained(messages, tools, *chat.reply.calls);
    if (!chat.object_arguments)
        for (OrderedJson& message : messages)
            if (message.contains("tool_calls"))
                for (OrderedJson& call : message["tool_calls"])
                    call["function"]["arguments"] = as_text(call["function"]["arguments"]);
    OrderedJson variables = more;
    if (chat.has_functions && !tools.is_null()) variables["tools"] = tools;
    return render_messages(chat.format, messages, reply_follows, variables);
}

}  // namespace vantage::internal
