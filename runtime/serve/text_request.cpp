#include "runtime/serve/text_request.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <random>
#include <utility>

#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/serve/text_grammar.h"
#include "runtime/serve/tools.h"
#include "runtime/session/model_access.h"

namespace vantage::serve {

using namespace internal;

namespace {

constexpr std::int64_t max_choices = 16, max_logprobs = 20, max_prompts = 1024;
constexpr std::size_t max_stops = 16, max_messages = 4096;
constexpr double largest_temperature = 1000;

std::uint64_t random_seed() {
    std::random_device device;
    return (std::uint64_t{device()} << 32 | device()) >> 11;  // exact in JSON's doubles
}

// {"token": number}, as OpenAI has it: the keys are texts. A number of -100 or less forbids a token.
std::vector<std::pair<std::int32_t, float>> logit_bias(const Json& object, std::int64_t vocab) {
    constexpr std::size_t most = 1024;
    constexpr double forbidden = -100, largest = 100;
    std::vector<std::pair<std::int32_t, float>> all;
    if (object.is_null() || (object.is_array() && object.empty())) return all;
    if (!object.is_object() || object.size() > most)
        RequestFields::wrong("logit_bias", object, format("an object of at most {} tokens", most));
    for (const auto& [name, value] : object.items()) {
        std::int32_t token = -1;
        const auto read = std::from_chars(name.data(), name.data() + name.size(), token);
        if (read.ec != std::errc() || read.ptr != name.data() + name.size() || token < 0 || token >= vocab)
            throw ApiError(400, format("\"logit_bias\": {} is no token's id below {}", in_quotes(name), vocab),
                           "logit_bias");
        if (!value.is_number() || !(std::abs(value.get<double>()) <= largest))
            RequestFields::wrong("logit_bias", value, "a number from -100 to 100");
        const auto bias = value.get<double>();
        all.emplace_back(token, bias <= forbidden ? -std::numeric_limits<float>::infinity() : static_cast<float>(bias));
    }
    return all;
}

Sampling sampling_of(RequestFields& fields, const ServedModel& model) {
    Sampling s = model.sampling;
    s.temperature = fields.number("temperature", 0, largest_temperature).value_or(s.temperature);
    s.top_p = fields.number("top_p", 0, 1).value_or(s.top_p);
    s.min_p = fields.number("min_p", 0, 1).value_or(s.min_p);
    s.top_k = std::max<std::int64_t>(fields.integer("top_k", -1, INT32_MAX).value_or(s.top_k), 0);
    const double first = fields.number("repetition_penalty", 0.001, 1000).value_or(s.repeat_penalty);
    s.repeat_penalty = fields.number("repeat_penalty", 0.001, 1000).value_or(first);  // as llama.cpp spells it
    constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                           most = std::numeric_limits<std::int64_t>::max();
    const std::optional<std::int64_t> seed = fields.integer("seed", least, most);
    s.seed = seed ? static_cast<std::uint64_t>(*seed) : random_seed();
    s.ignore_end = fields.boolean("ignore_eos").value_or(false);
    s.presence_penalty = fields.number("presence_penalty", -2, 2).value_or(0);
    s.frequency_penalty = fields.number("frequency_penalty", -2, 2).value_or(0);
    s.logit_bias = logit_bias(fields.at("logit_bias"), model.info.vocab);
    return s;
}

void read_common(RequestFields& fields, const ServedModel& model, TextRequest& request) {
    fields.text("model");
    request.choices = fields.integer("n", 1, max_choices).value_or(1);
    request.sampling = sampling_of(fields, model);
    request.text.stop = fields.texts("stop", max_stops);
    std::erase(request.text.stop, "");
    request.streams = fields.boolean("stream").value_or(false);
    if (const Json& options = fields.at("stream_options"); options.is_object())
        request.include_usage = RequestFields(options).boolean("include_usage").value_or(false);
    request.sampling.grammar = text_grammar(fields);
}

// A limit of -1 is none, as in llama.cpp.
std::optional<std::int64_t> read_limit(RequestFields& fields, const char* name, std::int64_t least) {
    const std::optional<std::int64_t> limit = fields.integer(name, -1, INT32_MAX);
    if (limit && *limit != -1 && *limit < least)
        RequestFields::wrong(name, *limit, format("an integer of {} or more", least));
    return limit && *limit == -1 ? INT32_MAX : limit;
}

void add_prompt(const Json& prompt, const ServedModel& model, TextRequest& request) {
    if (prompt.is_string()) {
        request.prompts.push_back(model.encoded(prompt.get_ref<const std::string&>(), true));
    } else {
        request.prompts.push_back(token_ids(prompt, "prompt"));
        for (const std::int32_t id : request.prompts.back())
            if (id >= model.info.vocab)
                throw ApiError(400, format("token {} is outside of the vocabulary: 0 … {}", id, model.info.vocab - 1),
                               "prompt");
    }
    if (request.prompts.back().empty()) throw ApiError(400, "the prompt has no tokens", "prompt");
    if (!request.echo) return;
    request.prompt_texts.push_back(prompt.is_string() ? prompt.get<std::string>()
                                                      : model.tokenizer.decode(request.prompts.back(), false));
}

}  // namespace

std::uint64_t choice_seed(std::uint64_t seed, std::int64_t choice) {
    constexpr std::uint64_t golden = 0x9E3779B97F4A7C15u;
    return seed + golden * static_cast<std::uint64_t>(choice);
}

TextRequest parse_completion(const Json& body, const ServedModel& model) {
    RequestFields fields(body);
    TextRequest request;
    read_common(fields, model, request);
    request.echo = fields.boolean("echo").value_or(false);
    request.text.max_tokens = read_limit(fields, "max_tokens", request.echo ? 0 : 1).value_or(16);
    if (const auto logprobs = fields.integer("logprobs", 0, max_logprobs))
        request.logprobs = static_cast<int>(*logprobs);
    fields.refuse("suffix", {""}, "is not supported");
    fields.refuse("best_of", {request.choices}, "must be equal to \"n\"");
    const Json& prompt = fields.at("prompt");
    const std::string wanted = "a text, a list of token ids, or a list of either";
    if (prompt.is_string() || (prompt.is_array() && !prompt.empty() && prompt[0].is_number())) {
        add_prompt(prompt, model, request);
    } else if (prompt.is_array() && !prompt.empty() && std::ssize(prompt) <= max_prompts) {
        for (const Json& one : prompt) {
            if (!one.is_string() && !one.is_array()) RequestFields::wrong("prompt", prompt, wanted);
            add_prompt(one, model, request);
        }
    } else {
        RequestFields::wrong("prompt", prompt, wanted);
    }
    request.ignored = fields.unknown();
    return request;
}

namespace {

// The prompt, and what a reply to it may be.
void read_conversation(RequestFields& fields, const ChatStyle& chat, const ServedModel& model, TextRequest& request) {
    Tools tools = parse_tools(fields);
    if (!tools.functions.empty() && !chat.reply.calls && !chat.reply.has_channels)
        throw ApiError(
            400,
            format("\"tools\": the chat template writes calls in a form that is not supported; supported are "
                   "those of {}",
                   text::reply::call_families()),
            "tools");
    const std::string text =
        render_chat(chat, chat_messages(fields.at("messages")), tools.told, template_variables(fields), true);
    request.prompts.push_back(model.encoded(text, false));
    request.text.end_tokens = chat.ends.end_tokens;
    request.text.shown_tokens = chat.reply.marks;
    request.text.stop.insert(request.text.stop.end(), chat.ends.stop.begin(), chat.ends.stop.end());
    const std::size_t end = text.find_last_not_of(" \n");
    const bool in_reasoning = chat.reply.reasons && end != std::string::npos &&
                              std::string_view(text).substr(0, end + 1).ends_with(text::reply::think_begin);
    request.reply = chat.reply;
    request.expected = {.in_reasoning = in_reasoning};
    for (const auto& function : tools.functions) request.expected.functions.push_back(function.name);
    request.reasoning_is_content = fields.text("reasoning_format").value_or("") == "none";  // as llama.cpp
    const std::string place = tools.functions.empty() ? "response_format" : "tools";
    try {
        request.sampling.grammar = reply_grammar(chat.reply, model.tokenizer,
                                                 {.in_reasoning = in_reasoning,
                                                  .functions = std::move(tools.functions),
                                                  .must_call = tools.must_call,
                                                  .may_call_often = tools.may_call_often,
                                                  .content = request.sampling.grammar});
    } catch (const Error& error) {
        throw ApiError(400, format("\"{}\": {}", place, error.what()), place);
    }
    request.ignored = std::move(tools.left_out);
}

}  // namespace

TextRequest parse_chat(const Json& body, const ServedModel& model) {
    RequestFields fields(body);
    TextRequest request;
    request.is_chat = true;
    read_common(fields, model, request);
    const std::optional<std::int64_t> old = read_limit(fields, "max_tokens", 1);
    request.text.max_tokens = read_limit(fields, "max_completion_tokens", 1).value_or(old.value_or(INT32_MAX));
    const bool logprobs = fields.boolean("logprobs").value_or(false);
    const auto top = fields.integer("top_logprobs", 0, max_logprobs);
    if (top && !logprobs) throw ApiError(400, "\"top_logprobs\" needs \"logprobs\": true", "top_logprobs");
    if (logprobs) request.logprobs = static_cast<int>(top.value_or(0));
    read_conversation(fields, model.chat_style(), model, request);
    std::ranges::copy(fields.unknown(), std::back_inserter(request.ignored));
    return request;
}

namespace {

// A content of parts is their texts.
std::string content_text(const Json& content, const std::string& place) {
    if (content.is_null()) return "";
    if (content.is_string()) return content.get<std::string>();
    if (!content.is_array()) RequestFields::wrong(place, content, "a text or a list of parts");
    std::string text;
    for (const Json& part : content) {
        if (!part.is_object() || part.value("type", Json()) != "text" || !part.value("text", Json()).is_string())
            throw ApiError(400, format("\"{}\": only parts of the type \"text\" are supported", place), place);
        text += part["text"].get_ref<const std::string&>();
    }
    return text;
}

}  // namespace

Json chat_messages(const Json& list) {
    if (!list.is_array() || list.empty() || list.size() > max_messages)
        RequestFields::wrong("messages", list, format("a list of 1 to {} messages", max_messages));
    Json messages = Json::array();
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string place = format("messages[{}]", i);
        if (!list[i].is_object()) RequestFields::wrong(place, list[i], "an object");
        Json message = list[i];
        const Json role = message.value("role", Json());
        if (role == "developer")
            message["role"] = "system";
        else if (role != "system" && role != "user" && role != "assistant" && role != "tool")
            RequestFields::wrong(place + ".role", role, "system, developer, user, assistant or tool");
        message["content"] = content_text(message.value("content", Json()), place + ".content");
        const Json calls = message.value("tool_calls", Json());
        message.erase("tool_calls");  // templates look whether it is there
        if (!calls.is_null() && !calls.empty()) message["tool_calls"] = parse_calls(calls, place + ".tool_calls");
        messages.push_back(std::move(message));
    }
    return messages;
}

Json template_variables(RequestFields& fields) {
    Json variables = fields.at("chat_template_kwargs");
    if (variables.is_null()) variables = Json::object();
    if (!variables.is_object()) RequestFields::wrong("chat_template_kwargs", variables, "an object");
    for (const char* own : {"messages", "tools", "documents", "add_generation_prompt"})
        if (variables.contains(own))
            throw ApiError(400, format("\"chat_template_kwargs\": \"{}\" is a field of its own", own),
                           "chat_template_kwargs");
    if (const auto effort = fields.text("reasoning_effort")) variables["reasoning_effort"] = *effort;
    return variables;
}

}  // namespace vantage::serve
