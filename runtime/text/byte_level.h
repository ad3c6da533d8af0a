// GPT-2's byte alphabet: a printable letter for each of the 256 bytes, so that any byte string is visible text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vantage::text {

/// Printable Latin-1 bytes map to themselves, the other 68 to U+0100 and up in order: ' ' is Ġ, '\n' is Ċ.
char32_t letter_of(std::uint8_t byte);
std::optional<std::uint8_t> byte_of(char32_t letter);
/// The bytes that a text of such letters represents; nothing if another character occurs.
std::optional<std::string> bytes_of_letters(std::string_view valid);

/// GPT-2's word pattern: contractions, words, numbers and other characters, each with the space before it.
inline constexpr const char* gpt2_words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

}  // namespace vantage::text
