#include "runtime/text/byte_level.h"

#include <array>

#include "runtime/text/unicode.h"

namespace vantage::text {
namespace {

constexpr char32_t first_spare = 0x100;
constexpr std::size_t spare_count = 68;

constexpr bool maps_to_itself(unsigned byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
    std::array<char32_t, 256> letters{};
    std::array<std::uint8_t, spare_count> spare{};  // the byte of each letter from U+0100 on
};

constexpr Alphabet make_alphabet() {
    Alphabet alphabet;
    std::size_t used = 0;
    for (unsigned byte = 0; byte < 256; ++byte) {
        if (maps_to_itself(byte)) {
            alphabet.letters[byte] = byte;
        } else {
            alphabet.letters[byte] = first_spare + static_cast<char32_t>(used);
            alphabet.spare[used++] = static_cast<std::uint8_t>(byte);
        }
    }
    return alphabet;
}
constexpr Alphabet alphabet = make_alphabet();

}  // namespace

char32_t letter_of(std::uint8_t byte) { return alphabet.letters[byte]; }

std::optional<std::uint8_t> byte_of(char32_t letter) {
    if (letter < 256) return maps_to_itself(letter) ? std::optional(static_cast<std::uint8_t>(letter)) : std::nullopt;
    if (letter < first_spare + spare_count) return alphabet.spare[letter - first_spare];
    return std::nullopt;
}

std::optional<std::string> bytes_of_letters(std::string_view valid) {
    std::string bytes;
    for (const char32_t letter : code_points(valid)) {
        const std::optional<std::uint8_t> byte = byte_of(letter);
        if (!byte) return std::nullopt;
        bytes += static_cast<char>(*byte);
    }
    return bytes;
}

}  // namespace vantage::text
