// Text for terminals and pictures: width in columns, visible forms of tokens, shortening.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/internal.h"

namespace vantage::internal {

/// Terminal columns of a character: 0 for combining marks, 2 for CJK and emoji, else 1.
int column_width(char32_t character);
int column_width(std::string_view text);

/// The visible and safe form of a token: a leading space as "·", other blanks and control characters as signs or code
/// points, invalid UTF-8 as U+FFFD.
std::string token_label(std::string_view token);
/// Decides whether words of a text are split into several tokens. Tokens are added one by one.
class WordPieces {
public:
    void add(std::string_view token);
    bool found() const { return found_; }

private:
    bool found_ = false, letter_before_ = false;
};
/// The label of a token in a text. A leading space is shown only if words are split, where it distinguishes words from
/// pieces.
std::string token_label(std::string_view token, const WordPieces& text);
/// The labels of all tokens of a text.
std::vector<std::string> token_labels(std::span<const std::string> tokens);
/// The text with each control character replaced by a space.
std::string without_controls(std::string_view text);
/// A decimal number without the zeros at the end of its fraction: "0.25" for "0.250", "1" for "1.00".
std::string without_trailing_zeros(std::string number);
/// The text, shortened to at most `columns` columns with "…".
std::string shortened(std::string_view text, int columns);

}  // namespace vantage::internal
