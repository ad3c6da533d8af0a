// The tokens that heads attend from and to, and which of them begin words or are separators.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/at.h"

namespace vantage::internal {

/// The tokens of a text, with the properties that the statistics need.
struct TokenSequence {
    std::vector<std::int32_t> ids;
    std::vector<bool> words;       ///< whether the token begins a word; empty: all do
    std::vector<bool> separators;  ///< punctuation, line ends, special tokens; empty: unknown
    int size() const { return static_cast<int>(ids.size()); }
    bool is_word(int i) const { return words.empty() || at(words, i); }
    bool is_separator(int i) const { return !separators.empty() && at(separators, i); }
    /// Bits for Session::head_statistics.
    std::vector<std::int32_t> marks() const;
};
/// Whether each token begins a word, by its text. Punctuation and later pieces of a word do not.
std::vector<bool> words_among(std::span<const std::string> token_texts);
/// Whether each token has neither letters nor digits: punctuation, line ends, spaces.
std::vector<bool> separators_among(std::span<const std::string> token_texts);

/// The keys and queries of an attention kind.
struct HeadTexts {
    /// For an image: [CLS], then the patches, row-major.
    TokenSequence keys;
    /// Cross-attention only. Otherwise the keys are also the queries.
    std::optional<TokenSequence> queries = {};
    bool causal = false;  ///< whether there is a causal mask
    int columns = 0;      ///< of an image: patches per row; 0: a text
    const TokenSequence& reading() const { return queries ? *queries : keys; }
    bool in_line() const { return !queries && columns == 0; }  ///< whether tokens have an order
    /// Bits for Session::head_statistics.
    std::vector<std::int32_t> marks() const;
};

}  // namespace vantage::internal
