// Values as text: Python's json.dumps, and the way in from JSON. (str and repr are declared with the values.)
#pragma once

#include <optional>
#include <string>

#include "runtime/base/json.h"
#include "runtime/text/jinja/value.h"

namespace vantage::text::jinja {

/// Keeps keys in the order of the file, as Python does.
using OrderedJson = nlohmann::ordered_json;

struct JsonStyle {
    std::optional<std::int64_t> indent;  ///< spaces a level; nothing: one line
    bool ascii = false, sorted = false;
    std::optional<std::string> between_items = {}, behind_keys = {};  ///< nothing: Python's defaults
};
/// Throws for what JSON has not: undefined, a namespace, a function.
std::string to_json(const Value& value, const JsonStyle& style, Budget& budget);

/// Texts that are no UTF-8 are repaired. Throws for numbers beyond 64 bits, and for what nests too deep.
Value from_json(const OrderedJson& json, Budget& budget, int depth = 0);

}  // namespace vantage::text::jinja
