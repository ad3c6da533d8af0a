// What a request says of the form of its texts: response_format, and what llama.cpp and vLLM have besides.
#pragma once

#include <optional>

#include "runtime/serve/request_fields.h"
#include "vantage/grammar.h"

namespace vantage::serve {

/// Reads response_format, grammar, json_schema, structured_outputs and guided_*. Throws ApiError 400 that names the
/// field, also where there are several.
std::optional<Grammar> text_grammar(RequestFields& fields);

}  // namespace vantage::serve
