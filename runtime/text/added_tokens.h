// Tokens outside of the model's vocabulary, such as <|endoftext|>. They are found in the text before the model runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/text/aligned_text.h"
#include "runtime/text/normalizer.h"
#include "runtime/text/prefix_tree.h"
#include "runtime/text/vocabulary.h"

namespace vantage::text {

/// Searching for a token costs its length at each position of a text, so files may not have arbitrarily long ones.
inline constexpr std::size_t longest_added_token = 4096;

struct AddedToken {
    std::int32_t id = 0;
    std::string content;
    bool single_word = false;  ///< matches only between non-word characters
    bool lstrip = false;       ///< includes the white space before it
    bool rstrip = false;       ///< includes the white space after it
    bool normalized = true;    ///< matches in the normalized text, by its own normalized form
    bool special = false;      ///< omitted when decoding without special tokens
};

class AddedTokens {
public:
    AddedTokens() = default;
    /// Reads the field "added_tokens" of tokenizer.json. A token that the model also has keeps the model's id.
    AddedTokens(const JsonFields& file, const Vocabulary& vocabulary, const Normalizer& normalizer);

    /// Splits the text at the tokens that match verbatim, normalizes the rest, and splits it at the tokens that match
    /// in normalized form.
    Pieces extract(AlignedText text, const Normalizer& normalizer) const;

    const AddedToken* by_id(std::int32_t id) const;
    const AddedToken* by_content(std::string_view content) const;
    bool is_special(std::string_view content) const;
    std::int32_t largest_id() const;

private:
    void make_matchers(const Normalizer& normalizer);
    /// Splits the text pieces at these tokens. Of several that begin at one place, the longest counts.
    void cut(Pieces& pieces, const PrefixTree& wanted) const;

    std::vector<AddedToken> tokens_;
    std::unordered_map<std::int32_t, std::size_t> by_id_;
    StringMap<std::size_t> by_content_;
    PrefixTree verbatim_, normalized_;  // of indices in tokens_
};

}  // namespace vantage::text
