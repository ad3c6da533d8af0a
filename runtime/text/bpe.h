// Byte-pair encoding: a word starts as its characters, and the pair of neighbours that was learned first is joined, again
// and again. Sennrich, Haddow and Birch 2016, https://arxiv.org/abs/1508.07909.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/io/json.h"

namespace vantage::text {

/// Lookup by string_view without making a string.
struct StringHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
template <class T>
using StringMap = std::unordered_map<std::string, T, StringHash, std::equal_to<>>;

/// Ids that a tokenizer file may use; beyond it no vocabulary exists, and sums of ids and sizes stay in 32 bits.
inline constexpr std::int64_t largest_token_id = (std::int64_t{1} << 30) - 1;

class Bpe {
public:
    /// The field "model" of tokenizer.json. Throws bad_file: a kind that is not BPE, merges of words that do not exist, …
    explicit Bpe(const JsonFields& model);
    Bpe(const Bpe&) = delete;
    Bpe& operator=(const Bpe&) = delete;

    struct Token {
        std::int32_t id;
        std::uint32_t bytes;  ///< length in the word
    };
    /// Appends the tokens of one word of valid UTF-8. O(n log n) in its length.
    void tokenize(std::string_view word, std::vector<Token>& out) const;

    std::optional<std::int32_t> id_of(std::string_view token) const;
    /// Nothing for an id without a token.
    const std::string* text_of(std::int32_t id) const;
    std::int32_t largest_id() const { return largest_id_; }  ///< -1 when there is no token
    std::size_t size() const { return ids_.size(); }

private:
    struct Merge {
        std::uint32_t rank;
        std::int32_t joined;
    };
    struct Symbol;
    const Merge* find_merge(std::int32_t left, std::int32_t right) const;
    void read_vocabulary(const JsonFields& model);
    void read_merges(const JsonFields& model);
    void find_byte_tokens();
    std::vector<Symbol> characters_of(std::string_view word) const;
    bool append_bytes(std::string_view text, std::vector<Symbol>& symbols) const;
    void merge_all(std::vector<Symbol>& symbols) const;
    std::int32_t unknown_id() const;

    std::string name_;  // of the file
    StringMap<std::int32_t> ids_;
    std::unordered_map<std::int32_t, const std::string*> texts_;  // point at the keys of ids_
    std::unordered_map<std::uint64_t, Merge> merges_;             // by left id << 32 | right id
    std::int32_t largest_id_ = -1;
    std::optional<std::string> unknown_;
    std::string prefix_, suffix_;  // of characters inside a word, and of its last one
    bool fuse_unknown_, byte_fallback_, ignore_merges_;
    std::array<std::int32_t, 256> byte_ids_{};  // of <0x00> to <0xFF>, -1 where there is none
};

/// The byte of a token such as <0x0A>.
std::optional<std::uint8_t> byte_of_token(std::string_view token);

}  // namespace vantage::text
