#include "runtime/text/added_tokens.h"

#include <algorithm>
#include <deque>

#include "runtime/base/at.h"
#include "runtime/text/unicode.h"

namespace vantage::text {

// ---- searching ------------------------------------------------------------------------------------------------------

namespace {

struct Found {
    Match range;
    std::int32_t value;
};

/// The first match at or after byte `from`; of several that begin there, the longest.
std::optional<Found> find_longest(const PrefixTree& tree, std::string_view text, std::size_t from) {
    std::optional<Found> longest;
    for (std::size_t begin = from; !tree.empty() && !longest && begin < text.size(); ++begin)
        tree.visit_prefixes(text.substr(begin), [&](std::size_t length, std::int32_t value) {
            longest = Found{{begin, begin + length}, value};
        });
    return longest;
}

bool is_word(std::string_view character) {
    // Alphabetic and joining characters are not one category, so the regular expressions classify them.
    static const Regex word(R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d}])", "word characters");
    return !character.empty() && !word.find_all(character).empty();
}

bool is_whole_word(std::string_view text, const Match& match) {
    if (match.begin > 0 && is_word(last_character(text.substr(0, match.begin)))) return false;
    return match.end == text.size() || !is_word(text.substr(match.end, character_at(text, match.end).bytes));
}

/// Start of the white space before `at`, at least `floor`.
std::size_t white_space_before(std::string_view text, std::size_t at, std::size_t floor) {
    while (at > floor) {
        const std::string_view character = last_character(text.substr(0, at));
        if (!is_white_space(character_at(character, 0).code)) break;
        at -= character.size();
    }
    return at;
}

std::size_t white_space_after(std::string_view text, std::size_t at) {
    for (const auto [code, begin, end] : Characters{text.substr(at)})
        if (!is_white_space(code)) return at + begin;
    return text.size();
}

AddedToken read_token(const JsonFields& fields) {
    AddedToken token;
    token.id = static_cast<std::int32_t>(fields.integer("id", 0, largest_token_id));
    token.content = fields.text("content");
    if (token.content.size() > longest_added_token)
        fields.fail("content", "at most " + std::to_string(longest_added_token) + " bytes");
    token.single_word = fields.optional_flag("single_word").value_or(false);
    token.lstrip = fields.optional_flag("lstrip").value_or(false);
    token.rstrip = fields.optional_flag("rstrip").value_or(false);
    token.special = fields.optional_flag("special").value_or(false);
    token.normalized = fields.optional_flag("normalized").value_or(!token.special);
    return token;
}

}  // namespace

// ---- the list -------------------------------------------------------------------------------------------------------

AddedTokens::AddedTokens(const JsonFields& file, const Vocabulary& vocabulary, const Normalizer& normalizer) {
    if (!file.has("added_tokens")) return;
    for (std::size_t i = 0; i < file.list("added_tokens").size(); ++i) {
        AddedToken token = read_token(file.element("added_tokens", i));
        if (token.content.empty()) continue;
        token.id = vocabulary.id_of(token.content).value_or(token.id);
        by_id_[token.id] = tokens_.size();
        by_content_[token.content] = tokens_.size();
        tokens_.push_back(std::move(token));
    }
    make_matchers(normalizer);
}

void AddedTokens::make_matchers(const Normalizer& normalizer) {
    std::vector<PrefixTree::Entry> verbatim, normalized;
    // A deque, because references to its elements must stay valid.
    std::deque<std::string> normal_forms;
    // Special tokens first: if two are equal after normalization, the first one wins.
    for (const bool special : {true, false}) {
        for (std::size_t i = 0; i < tokens_.size(); ++i) {
            const AddedToken& token = tokens_[i];
            if (token.special != special || by_id_.at(token.id) != i) continue;  // a redefined token counts once
            const auto value = static_cast<std::int32_t>(i);
            if (!token.normalized)
                verbatim.push_back({token.content, value});
            else if (!normalizer)
                normalized.push_back({token.content, value});
            else
                normalized.push_back({normal_forms.emplace_back(normalizer(AlignedText(token.content)).bytes), value});
        }
    }
    verbatim_ = PrefixTree(std::move(verbatim));
    normalized_ = PrefixTree(std::move(normalized));
}

const AddedToken* AddedTokens::by_id(std::int32_t id) const {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

const AddedToken* AddedTokens::by_content(std::string_view content) const {
    const auto found = by_content_.find(content);
    return found == by_content_.end() ? nullptr : &tokens_[found->second];
}

bool AddedTokens::is_special(std::string_view content) const {
    const AddedToken* token = by_content(content);
    return token != nullptr && token->special;
}

std::int32_t AddedTokens::largest_id() const {
    return tokens_.empty() ? -1 : std::ranges::max_element(tokens_, {}, &AddedToken::id)->id;
}

// ---- cutting --------------------------------------------------------------------------------------------------------

void AddedTokens::cut(Pieces& pieces, const PrefixTree& wanted) const {
    pieces.replace_texts([&](const Piece& piece, std::vector<Piece>& out) {
        const std::string_view text = pieces.view(piece);
        const auto add = [&](std::size_t begin, std::size_t end, std::int32_t token) {
            if (begin < end) out.push_back({piece.begin + begin, piece.begin + end, token});
        };
        std::size_t done = 0, from = 0;
        while (const std::optional<Found> found = find_longest(wanted, text, from)) {
            const AddedToken& token = at(tokens_, found->value);
            Match range = found->range;
            from = range.end;
            if (range.end <= done) continue;  // inside of the white space that a token to the left has consumed
            if (token.single_word && !is_whole_word(text, range)) continue;
            if (token.lstrip) range.begin = white_space_before(text, range.begin, done);
            if (token.rstrip) range.end = white_space_after(text, range.end);
            // A token to the left may have consumed white space with which this token's content begins.
            range.begin = std::max(range.begin, done);
            if (range.begin >= range.end) continue;
            add(done, range.begin, -1);
            add(range.begin, range.end, token.id);
            done = range.end;
        }
        add(done, text.size(), -1);
    });
}

Pieces AddedTokens::extract(AlignedText text, const Normalizer& normalizer) const {
    Pieces pieces{std::move(text), {}};
    if (!pieces.text.bytes.empty()) pieces.pieces.push_back({0, pieces.text.bytes.size(), -1});
    cut(pieces, verbatim_);
    if (normalizer) pieces.rewrite(normalizer);
    cut(pieces, normalized_);
    return pieces;
}

}  // namespace vantage::text
