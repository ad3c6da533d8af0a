// Text as terminals and pictures show it: how many columns it takes, what a token looks like, what is left out.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vantage {

/// Columns that a terminal gives to a character: 0 for combining marks, 2 for CJK and emoji, else 1.
int column_width(char32_t character);
int column_width(std::string_view text);

/// The text of a token made visible and harmless: a leading space as "·", other blanks and control characters (which a
/// terminal would obey) as signs or code points, what is no UTF-8 as U+FFFD.
std::string token_label(std::string_view token);
/// Whether a text has words in pieces; its tokens are added as they come.
class WordPieces {
public:
    void add(std::string_view token);
    bool found() const { return found_; }

private:
    bool found_ = false, letter_before_ = false;
};
/// The label of a token in a text. The leading space is shown only where a word is in pieces, so that these can be told from words;
/// else it would be clutter.
std::string token_label(std::string_view token, const WordPieces& text);
/// The labels of all tokens of a text.
std::vector<std::string> token_labels(std::span<const std::string> tokens);
/// The text with a space for each control character.
std::string without_controls(std::string_view text);
/// At most `columns` columns; what is longer ends in "…".
std::string shortened(std::string_view text, int columns);

}  // namespace vantage
