// Unicode properties and normalization forms that tokenizers need.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/utf8.h"

namespace vantage::text {

bool is_white_space(char32_t c);      ///< property White_Space
bool is_numeric(char32_t c);          ///< categories Nd, Nl, No
bool is_punctuation(char32_t c);      ///< categories P*, and ASCII punctuation
bool is_combining_mark(char32_t c);   ///< categories Mn, Mc, Me
bool is_nonspacing_mark(char32_t c);  ///< category Mn
bool is_control(char32_t c);          ///< categories Cc, Cf, Co
/// Controls, format characters, surrogates, private use, unassigned, and separators except ' '.
bool is_invisible(char32_t c);
/// Full, context-free lowercase mapping: one or two characters.
std::u32string lower_case(char32_t c);
inline bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0u) == 0x80u; }
/// The last character of a valid text, which must not be empty.
std::string_view last_character(std::string_view valid);

/// The characters of a valid text with their places: for (const auto [code, begin, end] : Characters{text}) …
struct Characters {
    struct Place {
        char32_t code;
        std::size_t begin, end;
    };
    struct Iterator {
        std::string_view text;
        std::size_t at;
        Place operator*() const {
            const Character c = character_at(text, at);
            return {c.code, at, at + c.bytes};
        }
        void operator++() {
            do ++at;
            while (at < text.size() && is_continuation(text[at]));
        }
        bool operator!=(const Iterator& other) const { return at != other.at; }
    };
    std::string_view text;
    Iterator begin() const { return {text, 0}; }
    Iterator end() const { return {text, text.size()}; }
};

/// Length in bytes of the extended grapheme cluster at a position.
std::size_t grapheme_bytes(std::string_view valid, std::size_t at);
/// Simple lowercase mapping: one character.
char32_t upper_case(char32_t c);

enum class NormalForm { nfc, nfd, nfkc, nfkd };

/// One character of a changed text, and its relation to the old text: 0 replaces the next old character, 1 is inserted,
/// -n replaces the next one and swallows the n after it. Offsets survive normalization this way.
struct Change {
    char32_t code;
    int change;
};
std::vector<Change> normalize(std::string_view valid, NormalForm form);

}  // namespace vantage::text
