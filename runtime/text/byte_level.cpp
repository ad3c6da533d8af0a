#include "runtime/text/byte_level.h"

#include "runtime/text/unicode.h"

namespace vantage::text {

char32_t letter_of(std::uint8_t byte) {
    if (byte <= 0x20) return 0x100u + byte;
    if (byte >= 0x7F && byte <= 0xA0) return 0x121u + (byte - 0x7Fu);
    return byte == 0xAD ? 0x143u : byte;
}

std::optional<std::string> bytes_of_letters(std::string_view valid) {
    std::string bytes;
    for (const char32_t letter : code_points(valid)) {
        std::uint8_t byte = 0xAD;
        if (letter <= 0x120)
            byte = static_cast<std::uint8_t>(letter);  // U+0100 to U+0120 are 0x00 to 0x20
        else if (letter <= 0x142)
            byte = static_cast<std::uint8_t>(letter - 0x121 + 0x7F);
        if (letter_of(byte) != letter) return std::nullopt;
        bytes += static_cast<char>(byte);
    }
    return bytes;
}

}  // namespace vantage::text
