// SentencePiece's "precompiled_charsmap": string replacements before the text is split.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/text/aligned_text.h"

namespace vantage::text {

class CharacterMap {
public:
    /// Reads the field "precompiled_charsmap", in base64: the size of a double-array trie in bytes, the trie, and the
    /// replacements, each NUL-terminated. Throws bad_file if it is malformed.
    explicit CharacterMap(const JsonFields& fields);

    /// Replaces per grapheme cluster (a letter with its marks). Throws bad_file if the map is damaged.
    AlignedText apply(const AlignedText& text) const;

private:
    std::optional<std::string_view> replacement_of(std::string_view text) const;
    std::string_view replacement_at(std::size_t begin) const;
    std::uint32_t unit(std::size_t at) const;
    [[noreturn]] void fail() const;

    std::string where_;  // file and field, for messages
    std::vector<std::uint32_t> trie_;
    std::string replacements_;
};

}  // namespace vantage::text
