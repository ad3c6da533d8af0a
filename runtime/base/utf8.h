// Decodes, encodes and repairs UTF-8.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "runtime/base/internal.h"

namespace vantage::internal {

inline constexpr std::string_view replacement_character = "\xEF\xBF\xBD";  ///< U+FFFD

/// The sequence at one position of a byte string.
struct Utf8Step {
    /// `broken`: not UTF-8. `cut_off`: the string ends inside a character.
    enum class Kind { character, broken, cut_off } kind;
    /// Of the character, of the part to be replaced by one U+FFFD, or of the beginning that is there.
    unsigned bytes;
};
/// The sequence that starts at `bytes[at]`.
Utf8Step utf8_step(std::string_view bytes, std::size_t at);

/// Replaces each maximal broken sequence by one U+FFFD, as the Unicode standard recommends.
std::string repair_utf8(std::string_view bytes);
/// Untrusted text, safe to show on a terminal. Control characters, overrides of the direction of text, and bytes that
/// are not UTF-8 become escapes such as \x1b. Characters in `kept`, such as "\n\t", are unchanged.
std::string escape_controls(std::string_view text, std::string_view kept = {});
/// The same document with JSON's own escapes ("\u202e") for those that JSON allows in strings.
std::string escape_controls_in_json(std::string_view json);
/// Throws interrupted on Ctrl-C, which it looks for after each MiB.
bool is_utf8(std::string_view bytes);
inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";  ///< may begin a text file, and is no part of it

/// One character of *valid* UTF-8.
struct Character {
    char32_t code;
    unsigned bytes;
};
Character character_at(std::string_view valid, std::size_t at);
void append_utf8(std::string& out, char32_t code);
std::u32string code_points(std::string_view valid);
/// The characters of any bytes, repaired.
std::u32string decode_utf8(std::string_view bytes);
std::string encode_utf8(std::u32string_view text);
/// The text, or its longest beginning with "…" behind it, for which `fits` is true; "" if it is for none. What is
/// shorter than one that fits must fit, too.
std::string longest_fitting(std::string_view text, const std::function<bool(std::string_view)>& fits);

}  // namespace vantage::internal
