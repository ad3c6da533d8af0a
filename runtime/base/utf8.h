// UTF-8 in and out, and repair of what is no UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace vantage {

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
/// The characters of any bytes, repaired; and back.
std::u32string decode_utf8(std::string_view bytes);
std::string encode_utf8(std::u32string_view text);

}  // namespace vantage
