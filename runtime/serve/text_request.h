// Requests for text, /v1/completions and /v1/chat/completions, as the scheduler takes them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/serve/request_fields.h"
#include "runtime/serve/served_model.h"
#include "runtime/text/reply/reply_parser.h"

namespace vantage::serve {

struct TextRequest {
    bool is_chat = false;
    std::vector<std::vector<std::int32_t>> prompts;
    std::vector<std::string> prompt_texts;  ///< with `echo`
    std::int64_t choices = 1;               ///< of each prompt
    Sampling sampling;  ///< of the first choice; choice k draws with the seed of choice_seed(seed, k)
    GeneratorOptions text;
    std::optional<int> logprobs;
    bool echo = false, streams = false, include_usage = false;
    text::reply::ReplyFormat reply;  ///< of chats
    text::reply::ReplyExpectation expected;
    bool reasoning_is_content = false;
    std::vector<std::string> ignored;  ///< fields without a meaning here
};

/// Reads a request. Throws ApiError 400 that names the field, and usage where a prompt is too long.
TextRequest parse_completion(const Json& body, const ServedModel& model);
TextRequest parse_chat(const Json& body, const ServedModel& model);

/// Messages as a chat template takes them: known roles, content as text, arguments of calls as objects.
Json chat_messages(const Json& list);
/// Variables of the chat template that a request gives: "chat_template_kwargs" and "reasoning_effort".
Json template_variables(RequestFields& fields);

/// The seed of choice k of a request, so that choices differ and the first has the request's own.
std::uint64_t choice_seed(std::uint64_t seed, std::int64_t choice);

}  // namespace vantage::serve
