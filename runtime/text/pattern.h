// Patterns in tokenizer.json: {"String": "▁"} or {"Regex": "\\p{N}{1,3}"}.
#pragma once

#include <optional>
#include <string>

#include "runtime/base/json.h"
#include "runtime/text/aligned_text.h"

namespace vantage::text {

/// Reads the field "pattern" of a component and compiles it.
Finder make_finder(const JsonFields& component);
/// The pattern's text, if it is a plain string.
std::optional<std::string> plain_pattern(const JsonFields& component);
/// Reads a field that must contain exactly one character.
char32_t one_character(const JsonFields& fields, std::string_view key);

}  // namespace vantage::text
