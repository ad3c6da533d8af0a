// Patterns in tokenizer.json: {"String": "▁"} or {"Regex": "\\p{N}{1,3}"}.
#pragma once

#include <optional>
#include <string>

#include "runtime/base/json.h"
#include "runtime/text/aligned_text.h"

namespace vantage::text {

/// The field "pattern" of a component, ready to search with.
Finder make_finder(const JsonFields& component);
/// The field's text when it is a plain string.
std::optional<std::string> plain_pattern(const JsonFields& component);
/// A field that holds exactly one character.
char32_t one_character(const JsonFields& fields, std::string_view key);

}  // namespace vantage::text
