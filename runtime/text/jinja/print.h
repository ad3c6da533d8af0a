// Values to JSON, like Python's json.dumps, and JSON to values. (value.h declares str and repr.)
#pragma once

#include <optional>
#include <string>

#include "runtime/base/json.h"
#include "runtime/text/jinja/value.h"

namespace vantage::text::jinja {

using internal::OrderedJson;  ///< keeps the order of keys, like Python

struct JsonStyle {
    std::optional<std::int64_t> indent;  ///< spaces per level; nothing: one line
    bool ascii = false, sorted = false;
    std::string item_separator = ", ", key_separator = ": ";
};
/// Throws for values that JSON cannot represent: undefined, namespaces, functions.
std::string to_json(const Value& value, const JsonStyle& style, Budget& budget);

/// Repairs invalid UTF-8. Throws for integers beyond 64 bits, and for too deep nesting.
Value from_json(const OrderedJson& json, Budget& budget, int depth = 0);

}  // namespace vantage::text::jinja
