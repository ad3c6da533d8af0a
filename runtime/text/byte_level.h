// GPT-2's byte alphabet: a printable letter for each of the 256 bytes, so that any byte string is visible text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vantage::text {

/// Printable Latin-1 bytes map to themselves, the other 68 to U+0100 and up in order: ' ' is Ġ, '\n' is Ċ.
char32_t letter_of(std::uint8_t byte);
/// The bytes that a text of such letters represents; nothing if another character occurs.
std::optional<std::string> bytes_of_letters(std::string_view valid);

}  // namespace vantage::text
