#include "runtime/text/aligned_text.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/base/interrupt.h"

namespace vantage::text {

// ---- text with origins ----------------------------------------------------------------------------------------------

AlignedText::AlignedText(std::string_view original) : bytes(original) {
    origins.reserve(original.size());
    std::size_t next = 0;  // look for Ctrl-C
    for (const auto [code, begin, end] : Characters{original}) {
        if (begin >= next) throw_if_interrupted(), next += 1 << 20;
        origins.resize(end, {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
    }
}

void AlignedText::append(char32_t code, Origin origin) {
    append_utf8(bytes, code);
    origins.resize(bytes.size(), origin);
}

void AlignedText::append(std::string_view valid, Origin origin) {
    bytes += valid;
    origins.resize(bytes.size(), origin);
}

void AlignedText::append(const AlignedText& other, std::size_t begin, std::size_t end) {
    bytes.append(other.bytes, begin, end - begin);
    origins.insert(origins.end(), other.origins.begin() + static_cast<std::ptrdiff_t>(begin),
                   other.origins.begin() + static_cast<std::ptrdiff_t>(end));
}

void check_growth(const AlignedText& text, std::size_t size) {
    if (text.origins.empty()) return;
    const std::size_t original = std::size_t{text.origins.back().end} - text.origins.front().begin;
    constexpr std::size_t factor = 12, allowance = 256;  // NFKC makes 33 bytes of the 3 of U+FDFA
    if (size > factor * original + allowance)
        throw bad_file_error(
            "the tokenizer's normalizer or pre-tokenizer expands {} bytes of text to {}, wanted at most "
            "{} times as much; is its file damaged?",
            original, size, factor);
}

namespace {

/// The origin of text inserted after the first `at` bytes.
Origin origin_before(const AlignedText& text, std::size_t at) {
    if (at > 0) return text.origins[at - 1];
    const std::uint32_t start = text.origins.empty() ? 0 : text.origins.front().begin;
    return {start, start};
}

}  // namespace

AlignedText apply_changes(const AlignedText& text, const std::vector<Change>& changes) {
    AlignedText out;
    out.bytes.reserve(text.bytes.size());
    out.origins.reserve(text.bytes.size());
    std::size_t at = 0;  // in the old text
    for (const Change& change : changes) {
        throw_if_interrupted();
        const bool replaces = change.change <= 0 && at < text.bytes.size();
        out.append(change.code, replaces ? text.origins[at] : origin_before(text, at));
        for (int i = change.change; i <= 0 && at < text.bytes.size(); ++i) at += character_at(text.bytes, at).bytes;
    }
    return out;
}

AlignedText replace_matches(const AlignedText& text, const std::vector<Match>& matches, std::string_view content) {
    check_growth(text, text.bytes.size() + matches.size() * content.size());
    AlignedText out;
    std::size_t at = 0;
    for (const Match& match : matches) {
        out.append(text, at, match.begin);
        out.append(content, origin_before(text, match.end));
        at = match.end;
    }
    out.append(text, at, text.bytes.size());
    return out;
}

void prepend(AlignedText& text, std::string_view prefix) {
    if (text.bytes.empty()) return;
    check_growth(text, text.bytes.size() + prefix.size());
    const Origin first = text.origins.front();
    text.bytes.insert(0, prefix);
    text.origins.insert(text.origins.begin(), prefix.size(), first);
}

// ---- pieces ---------------------------------------------------------------------------------------------------------

void Pieces::replace_texts(const std::function<void(const Piece&, std::vector<Piece>&)>& cut) {
    std::vector<Piece> out;
    for (const Piece& piece : pieces) {
        throw_if_interrupted();
        if (piece.is_token())
            out.push_back(piece);
        else
            cut(piece, out);
    }
    pieces = std::move(out);
}

void Pieces::rewrite(const std::function<AlignedText(AlignedText)>& change) {
    AlignedText out;
    out.bytes.reserve(text.bytes.size());
    out.origins.reserve(text.bytes.size());
    for (Piece& piece : pieces) {
        throw_if_interrupted();
        const std::size_t begin = out.bytes.size();
        if (piece.is_token()) {
            out.append(text, piece.begin, piece.end);
        } else {
            AlignedText part;
            part.append(text, piece.begin, piece.end);
            part = change(std::move(part));
            out.append(part, 0, part.bytes.size());
            check_growth(text, out.bytes.size());  // of all pieces: many small ones may each grow by the allowance
        }
        piece.begin = begin;
        piece.end = out.bytes.size();
    }
    text = std::move(out);
    std::erase_if(pieces, [](const Piece& piece) { return piece.begin == piece.end; });
}

namespace {

struct Part {
    Match range;
    bool delimiter;
};

/// The piece as delimiters and the text between them.
std::vector<Part> parts_of(std::size_t size, const std::vector<Match>& matches, bool invert) {
    std::vector<Part> parts;
    std::size_t at = 0;
    for (const Match& match : matches) {
        if (at < match.begin) parts.push_back({{at, match.begin}, invert});
        parts.push_back({match, !invert});
        at = match.end;
    }
    if (at < size) parts.push_back({{at, size}, invert});
    return parts;
}

/// Merges neighbouring parts as the behaviour requires. `join` is called with a part and its predecessor in the
/// direction of travel.
std::vector<Part> joined(const std::vector<Part>& parts, SplitBehavior behavior) {
    const bool backwards = behavior == SplitBehavior::merged_with_next;
    std::vector<Part> out;
    bool previous = false;  // whether the part before was a delimiter
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const Part& part = parts[backwards ? parts.size() - 1 - i : i];
        const bool join =
            behavior == SplitBehavior::contiguous ? part.delimiter == previous : part.delimiter && !previous;
        if (join && !out.empty()) {
            if (backwards)
                out.back().range.begin = part.range.begin;
            else
                out.back().range.end = part.range.end;
        } else {
            out.push_back(part);
        }
        previous = part.delimiter;
    }
    if (backwards) std::reverse(out.begin(), out.end());
    return out;
}

}  // namespace

void split(Pieces& pieces, const Finder& find, SplitBehavior behavior, bool invert) {
    pieces.replace_texts([&](const Piece& piece, std::vector<Piece>& out) {
        std::vector<Part> parts = parts_of(piece.end - piece.begin, find(pieces.view(piece)), invert);
        if (behavior == SplitBehavior::removed)
            std::erase_if(parts, [](const Part& part) { return part.delimiter; });
        else if (behavior != SplitBehavior::isolated)
            parts = joined(parts, behavior);
        for (const Part& part : parts)
            if (part.range.begin < part.range.end)
                out.push_back({piece.begin + part.range.begin, piece.begin + part.range.end, -1});
    });
}

std::vector<Match> find_string(std::string_view text, std::string_view wanted) {
    std::vector<Match> matches;
    if (wanted.empty()) return matches;
    for (std::size_t at = text.find(wanted); at != std::string_view::npos; at = text.find(wanted, at + wanted.size()))
        matches.push_back({at, at + wanted.size()});
    return matches;
}

std::vector<Match> find_characters(std::string_view text, bool (*wanted)(char32_t)) {
    std::vector<Match> matches;
    for (const auto [code, begin, end] : Characters{text})
        if (wanted(code)) matches.push_back({begin, end});
    return matches;
}

}  // namespace vantage::text
