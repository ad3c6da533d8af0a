// Byte tokens <0x00> to <0xFF>: the fallback for characters outside of the vocabulary.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/text/vocabulary.h"

namespace vantage::text {

/// The byte of a token such as <0x0A>.
std::optional<std::uint8_t> byte_of_token(std::string_view token);

class ByteTokens {
public:
    explicit ByteTokens(const Vocabulary& vocabulary);
    /// True if the vocabulary has a token for each byte of the text.
    bool cover(std::string_view text) const;
    std::int32_t id_of(char byte) const { return ids_[static_cast<unsigned char>(byte)]; }

private:
    std::array<std::int32_t, 256> ids_{};  // -1: no such token
};

}  // namespace vantage::text
