// UTF-8 as pictures and terminals need it: characters, and how many columns each takes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vantage {

/// Every byte that is no part of a character becomes U+FFFD.
std::u32string decode_utf8(std::string_view text);
std::string encode_utf8(std::u32string_view text);
/// The same text with U+FFFD for what was wrong in it.
std::string valid_utf8(std::string_view text);

/// Columns that a terminal gives to a character: 0 for combining marks, 2 for CJK and emoji, else 1.
int column_width(char32_t character);
int column_width(std::string_view text);

/// The text of a token made visible and harmless: a leading space as "·", other blanks and control characters (which a
/// terminal would obey) as signs or code points, what is no UTF-8 as U+FFFD.
std::string token_label(std::string_view token);
/// The labels of a text's tokens. The leading spaces are shown only where a word is in pieces, so that these can be told
/// from words; else they would be clutter.
std::vector<std::string> token_labels(std::span<const std::string> tokens);
/// The text with a space for each control character.
std::string without_controls(std::string_view text);
/// At most `columns` columns; what is longer ends in "…".
std::string shortened(std::string_view text, int columns);

}  // namespace vantage
