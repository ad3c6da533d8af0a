// A text that is being changed and cut up, each byte of which still knows where it came from.
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

/// Where a byte came from: a byte range of the original text, of whole characters.
struct Origin {
    std::uint32_t begin = 0, end = 0;
};

/// Valid UTF-8, and the origin of each byte.
struct AlignedText {
    std::string bytes;
    std::vector<Origin> origins;

    AlignedText() = default;
    /// The original itself. `original` must be shorter than 4 GiB.
    explicit AlignedText(std::string_view original);

    void append(char32_t code, Origin origin);
    void append(std::string_view valid, Origin origin);
    void append(const AlignedText& other, std::size_t begin, std::size_t end);
};

/// A few replacements, each of which doubles its text, would fill any memory: files are not trusted that far. Throws
/// bad_file when what the text came from became so many bytes by now that no sensible file does it.
void check_growth(const AlignedText& text, std::size_t size);

/// Replaces the text by what the changes say (see Change). Inserted characters take the origin of the old character
/// before them; at the very start, where there is none, an empty one.
AlignedText apply_changes(const AlignedText& text, const std::vector<Change>& changes);
/// Replaces each match by `content`, which takes the origin of the last character that was matched.
AlignedText replace_matches(const AlignedText& text, const std::vector<Match>& matches, std::string_view content);
/// Puts `prefix` before a text that is not empty, with the origin of its first character.
void prepend(AlignedText& text, std::string_view prefix);

/// One part of the text on its way to the model: still text, or a token already.
struct Piece {
    std::size_t begin = 0, end = 0;
    std::int32_t token = -1;
    bool is_token() const { return token >= 0; }
    bool operator==(const Piece&) const = default;
};

/// The text, cut up. Pieces are in order; what lies between them has been dropped.
struct Pieces {
    AlignedText text;
    std::vector<Piece> pieces;

    std::string_view view(const Piece& piece) const { return view(piece.begin, piece.end); }
    std::string_view view(std::size_t begin, std::size_t end) const {
        return std::string_view(text.bytes).substr(begin, end - begin);
    }
    /// Makes each piece that is no token anew; token pieces stay as they are.
    void rewrite(const std::function<AlignedText(AlignedText)>& change);
};

/// What happens to what a pattern matched; the words are those of tokenizer.json.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// Finds the delimiters in a piece, by byte from its start.
using Finder = std::function<std::vector<Match>(std::string_view)>;
/// Cuts all pieces that are no tokens. `invert`: what was found is kept and what lies between is the delimiter.
void split(Pieces& pieces, const Finder& find, SplitBehavior behavior, bool invert = false);

/// Finders. The empty string is found nowhere.
std::vector<Match> find_string(std::string_view text, std::string_view wanted);
std::vector<Match> find_characters(std::string_view text, bool (*wanted)(char32_t));

}  // namespace vantage::text
