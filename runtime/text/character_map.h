// SentencePiece's "precompiled_charsmap": which strings of a text are replaced before it is cut up, by which others.
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
    /// The field "precompiled_charsmap", in base64: the size of a double-array trie in bytes, the trie, and the replacements,
    /// each with a NUL behind it. Throws bad_file when it is something else.
    explicit CharacterMap(const JsonFields& fields);

    /// Replaces character by character as a reader sees them (a letter and its marks). Throws bad_file when the map
    /// turns out to be damaged.
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
