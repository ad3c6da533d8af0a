// Functions that a reply may call: the fields "tools", "tool_choice" and "parallel_tool_calls" of OpenAI's API, and the
// calls in messages.
#pragma once

#include <string>
#include <vector>

#include "runtime/serve/request_fields.h"
#include "runtime/text/reply/reply_grammar.h"

namespace vantage::serve {

struct Tools {
    Json told = nullptr;  ///< for the template; null: none
    std::vector<text::reply::CallableFunction> functions = {};
    bool must_call = false, may_call_often = true;
    std::vector<std::string> left_out = {};  ///< keywords of schemas that are not supported
};

/// Throws ApiError 400 that names the field.
Tools parse_tools(RequestFields& fields);

/// The "tool_calls" of a message, with arguments as objects. Throws ApiError 400.
Json parse_calls(const Json& calls, const std::string& place);

}  // namespace vantage::serve
