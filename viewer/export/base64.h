// Bytes as letters (RFC 4648), for files that hold others.
#pragma once

#include <string>
#include <string_view>

namespace vantage::view {

inline std::string base64(std::string_view bytes) {
    constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        unsigned word = 0;
        for (std::size_t j = 0; j < 3; ++j)
            word = word << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
        for (std::size_t j = 0; j < 4; ++j) text += i + j > bytes.size() ? '=' : letters[word >> (18 - 6 * j) & 63u];
    }
    return text;
}

}  // namespace vantage::view
