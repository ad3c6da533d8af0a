// Errors of the API: a status and the object that clients of OpenAI's API expect.
#pragma once

#include <stdexcept>
#include <string>

#include "runtime/text/jinja/print.h"
#include "vantage/error.h"

namespace vantage::serve {

/// Requests and answers; keys in their order.
using Json = text::jinja::OrderedJson;

class ApiError : public std::runtime_error {
public:
    /// `param`: the field of the request that it is about.
    ApiError(int code, const std::string& message, std::string field = {})
        : std::runtime_error(message), status(code), param(std::move(field)) {}
    /// What an error of the runtime is for a client.
    explicit ApiError(const Error& error);

    /// {"error": {"message", "type", "param", "code"}}
    Json json() const;
    /// The same as text; bytes that are no UTF-8 are replaced.
    std::string text() const { return json().dump(-1, ' ', false, Json::error_handler_t::replace); }

    int status;
    std::string param;
};

}  // namespace vantage::serve
