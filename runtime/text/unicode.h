// Unicode: UTF-8 in and out, repair of what is no UTF-8, the few properties tokenizers ask for, normalization forms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vantage::text {

inline constexpr std::string_view replacement_character = "\xEF\xBF\xBD";  ///< U+FFFD

/// What stands at one place of a byte string.
struct Utf8Step {
    enum class Kind { character, broken, cut_off } kind;
    unsigned bytes;  ///< of the character; of the longest beginning of one that has to be replaced; of what is there
};
/// Looks at `bytes[at]` and what follows. `cut_off`: the string ends before it is clear what stands here.
Utf8Step utf8_step(std::string_view bytes, std::size_t at);

/// Each longest broken sequence becomes one U+FFFD, as the Unicode standard recommends (and Rust's from_utf8_lossy does).
std::string repair_utf8(std::string_view bytes);
bool is_utf8(std::string_view bytes);

/// One character of *valid* UTF-8.
struct Character {
    char32_t code;
    unsigned bytes;
};
Character character_at(std::string_view valid, std::size_t at);
void append_utf8(std::string& out, char32_t code);
std::u32string code_points(std::string_view valid);

bool is_white_space(char32_t c);     ///< property White_Space
bool is_numeric(char32_t c);         ///< categories Nd, Nl, No
bool is_punctuation(char32_t c);     ///< categories P*, and ASCII punctuation
bool is_combining_mark(char32_t c);  ///< categories Mn, Mc, Me
bool is_invisible(
    char32_t c);  ///< controls, format characters, surrogates, private use, unassigned, separators but ' '
/// Full lowercase mapping without context, one to two characters.
std::u32string lower_case(char32_t c);

enum class NormalForm { nfc, nfd, nfkc, nfkd };

/// One character of a changed text and what became of the old one: 0 replaces the next old character, 1 is inserted,
/// -n replaces the next and swallows the n after it. Tokenizers keep offsets through normalization this way.
struct Change {
    char32_t code;
    int change;
};
std::vector<Change> normalize(std::string_view valid, NormalForm form);

}  // namespace vantage::text
