// Text under transformation: each byte knows its origin in the original text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/regex.h"
#include "runtime/text/unicode.h"

namespace vantage::text {

/// The origin of a byte: a byte range of the original text, of whole characters.
struct Origin {
    std::uint32_t begin = 0, end = 0;
};

/// Valid UTF-8 with the origin of each byte.
struct AlignedText {
    std::string bytes;
    std::vector<Origin> origins;

    AlignedText() = default;
    /// The unchanged original. `original` must be shorter than 4 GiB.
    explicit AlignedText(std::string_view original);

    void append(char32_t code, Origin origin);
    void append(std::string_view valid, Origin origin);
    void append(const AlignedText& other, std::size_t begin, std::size_t end);
};

/// Protects against files whose replacements each double the text and so exhaust memory. Throws bad_file if the text
/// has grown far more than any sensible file needs.
void check_growth(const AlignedText& text, std::size_t size);

/// Applies the changes (see Change). Inserted characters take the origin of the old character before them; at the
/// start, an empty origin.
AlignedText apply_changes(const AlignedText& text, const std::vector<Change>& changes);
/// Replaces each match by `content`, which takes the origin of the last matched character.
AlignedText replace_matches(const AlignedText& text, const std::vector<Match>& matches, std::string_view content);
/// Puts `prefix` before a non-empty text, with the origin of its first character.
void prepend(AlignedText& text, std::string_view prefix);

/// A part of the text: still text, or already a token.
struct Piece {
    std::size_t begin = 0, end = 0;
    std::int32_t token = -1;
    bool is_token() const { return token >= 0; }
    bool operator==(const Piece&) const = default;
};

/// The text, split into pieces in order. Text between pieces was removed.
struct Pieces {
    AlignedText text;
    std::vector<Piece> pieces;

    std::string_view view(const Piece& piece) const { return view(piece.begin, piece.end); }
    std::string_view view(std::size_t begin, std::size_t end) const {
        return std::string_view(text.bytes).substr(begin, end - begin);
    }
    /// Replaces each text piece by the pieces that `cut` adds to the list. Token pieces stay.
    void replace_texts(const std::function<void(const Piece&, std::vector<Piece>&)>& cut);
    /// Replaces the text of each text piece.
    void rewrite(const std::function<AlignedText(AlignedText)>& change);
};

/// What happens to a delimiter. The words are those of tokenizer.json.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// Splits all text pieces at the delimiters that `find` finds in them. `invert`: the matches are the content, and the
/// text between them is the delimiter.
void split(Pieces& pieces, const Finder& find, SplitBehavior behavior, bool invert = false);

/// Finders. The empty string is never found.
std::vector<Match> find_string(std::string_view text, std::string_view wanted);
std::vector<Match> find_characters(std::string_view text, bool (*wanted)(char32_t));

}  // namespace vantage::text
