// Patterns in tokenizer.json: {"String": "▁"} or {"Regex": "\\p{N}{1,3}"}.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/json.h"
#include "runtime/text/aligned_text.h"

namespace vantage::text {

/// Reads the field "pattern" of a component and compiles it. Throws bad_file.
Finder make_finder(const JsonFields& component);
/// Reads a field that must contain exactly one character. Throws bad_file.
std::string one_character(const JsonFields& fields, std::string_view key);

}  // namespace vantage::text
