// Byte-pair encoding: a word starts as its characters. The neighbouring pair with the lowest rank is merged repeatedly.
// Sennrich, Haddow and Birch 2016, https://arxiv.org/abs/1508.07909.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/text/byte_tokens.h"
#include "runtime/text/model.h"

namespace vantage::text {

class Bpe : public Model {
public:
    /// Throws bad_file, for example for merges of unknown tokens.
    explicit Bpe(const JsonFields& model);
    void tokenize(std::string_view word, std::vector<Token>& out) const override;

private:
    struct Merge {
        std::uint32_t rank;
        std::int32_t joined;
    };
    struct Symbol;
    const Merge* find_merge(std::int32_t left, std::int32_t right) const;
    void read_merges(const JsonFields& model);
    std::vector<Symbol> characters_of(std::string_view word) const;
    void merge_all(std::vector<Symbol>& symbols) const;

    std::unordered_map<std::uint64_t, Merge> merges_;  // by left id << 32 | right id
    std::optional<std::string> unknown_;
    std::string prefix_, suffix_;  // of characters inside a word, and of its last one
    bool fuse_unknown_, ignore_merges_;
    std::optional<ByteTokens> byte_tokens_;  // for unknown characters
};

}  // namespace vantage::text
