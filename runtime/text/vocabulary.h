// The tokens of a model, by text and by id, and those for single bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "runtime/base/json.h"

namespace vantage::text {

/// Allows lookup by string_view without a copy.
struct StringHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
template <class T>
using StringMap = std::unordered_map<std::string, T, StringHash, std::equal_to<>>;

/// The largest id of a tokenizer file, far above any vocabulary: sums of ids and sizes stay in 32 bits.
inline constexpr std::int64_t largest_token_id = (std::int64_t{1} << 30) - 1;

class Vocabulary {
public:
    Vocabulary() = default;
    Vocabulary(Vocabulary&&) = default;  // no copies: texts_ points into ids_
    Vocabulary& operator=(Vocabulary&&) = default;

    void reserve(std::size_t count);
    /// If a token has two ids, the last one is encoded. If two tokens have one id, the first one is decoded.
    void add(const std::string& token, std::int32_t id);

    std::optional<std::int32_t> id_of(std::string_view token) const;
    /// Nothing for an unknown id.
    const std::string* text_of(std::int32_t id) const;
    std::int32_t largest_id() const { return largest_id_; }  ///< -1 if there are no tokens
    const StringMap<std::int32_t>& ids() const { return ids_; }

private:
    StringMap<std::int32_t> ids_;
    std::unordered_map<std::int32_t, const std::string*> texts_;  // point to the keys of ids_
    std::int32_t largest_id_ = -1;
};

/// Reads the field "vocab" of a model whose tokens map to ids: {"the": 5, …}.
Vocabulary read_vocabulary(const JsonFields& model);

/// The byte of a token such as <0x0A>.
std::optional<std::uint8_t> byte_of_token(std::string_view token);

/// Byte tokens <0x00> to <0xFF>: the fallback for characters outside of the vocabulary.
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
