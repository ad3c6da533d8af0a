#include "runtime/text/byte_tokens.h"

#include <algorithm>
#include <charconv>

namespace vantage::text {

std::optional<std::uint8_t> byte_of_token(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return std::nullopt;
    std::uint8_t byte = 0;
    const char* begin = token.data() + 3;
    const auto [end, error] = std::from_chars(begin, begin + 2, byte, 16);
    return error == std::errc() && end == begin + 2 ? std::optional(byte) : std::nullopt;
}

ByteTokens::ByteTokens(const Vocabulary& vocabulary) {
    for (unsigned byte = 0; byte < 256; ++byte) ids_[byte] = vocabulary.id_of(format("<0x{:02X}>", byte)).value_or(-1);
}

bool ByteTokens::cover(std::string_view text) const {
    return std::all_of(text.begin(), text.end(), [this](char byte) { return id_of(byte) >= 0; });
}

}  // namespace vantage::text
