#include "runtime/text/grammar/token_mask.h"

#include <algorithm>

#include "runtime/base/errors.h"
#include "runtime/text/grammar/grammar_access.h"
#include "runtime/text/unicode.h"

namespace vantage::text::grammar {

using namespace internal;

namespace {

// The number of characters, if all of them may stand in a JSON string without an escape.
std::optional<std::size_t> plain_characters(std::string_view bytes) {
    if (!is_utf8(bytes)) return std::nullopt;
    std::size_t characters = 0;
    for (const auto [code, begin, end] : Characters{bytes}) {
        if (code < U' ' || code == U'"' || code == U'\\') return std::nullopt;
        ++characters;
    }
    return characters;
}

}  // namespace

VocabularyTree::VocabularyTree(const Tokenizer& tokenizer, std::int64_t vocab) {
    constexpr std::size_t longest = 1024;  // a longer one is never needed: its parts are tokens, too
    const std::int64_t known = std::min<std::int64_t>(vocab, tokenizer.vocab_size());
    std::vector<std::int32_t> plain, others;
    bytes_.resize(static_cast<std::size_t>(vocab));
    special_.resize(static_cast<std::size_t>(vocab));
    for (std::int32_t id = 0; id < known; ++id) {
        const bool is_special = tokenizer.is_special(id);
        special_[static_cast<std::size_t>(id)] = is_special;
        std::string bytes = is_special ? special_token_bytes(id) : tokenizer.token_bytes(id);
        if (bytes.empty() || bytes.size() > longest) continue;
        if (!is_special && bytes.find(special_token_bytes(0).front()) != std::string::npos) continue;  // no UTF-8
        if (const std::optional<std::size_t> characters = plain_characters(bytes)) {
            plain.push_back(id);
            plain_by_length_.emplace_back(*characters, id);
        } else {
            others.push_back(id);
        }
        bytes_[static_cast<std::size_t>(id)] = std::move(bytes);
    }
    std::ranges::sort(plain_by_length_);
    plain_ = tree_of(std::move(plain), bytes_);
    others_ = tree_of(std::move(others), bytes_);
}

VocabularyTree::Tree VocabularyTree::tree_of(std::vector<std::int32_t> tokens, const std::vector<std::string>& bytes) {
    const auto bytes_of = [&](std::int32_t token) -> const std::string& {
        return bytes[static_cast<std::size_t>(token)];
    };
    std::ranges::sort(tokens, {}, bytes_of);
    Tree tree{.nodes = {}, .tokens = std::move(tokens)};
    std::vector<std::uint32_t> path;  // the nodes of the last token
    std::string_view before;
    for (std::uint32_t i = 0; i < tree.tokens.size(); ++i) {
        const std::string_view now = bytes_of(tree.tokens[i]);
        const auto shared = static_cast<std::size_t>(std::ranges::mismatch(before, now).in1 - before.begin());
        for (std::size_t depth = shared; depth < path.size(); ++depth)
            tree.nodes[path[depth]].end = static_cast<std::uint32_t>(tree.nodes.size());
        path.resize(shared);
        for (std::size_t depth = shared; depth < now.size(); ++depth) {
            path.push_back(static_cast<std::uint32_t>(tree.nodes.size()));
            tree.nodes.push_back({.end = 0,
                                  .first_token = i,
                                  .last_token = i,
                                  .depth = static_cast<std::uint16_t>(depth),
                                  .byte = static_cast<std::uint8_t>(now[depth])});
        }
        tree.nodes[path.back()].last_token = i + 1;  // equal ones follow each other
        tree.deepest = std::max(tree.deepest, now.size());
        before = now;
    }
    for (const std::uint32_t node : path) tree.nodes[node].end = static_cast<std::uint32_t>(tree.nodes.size());
    return tree;
}

TokenMask::TokenMask(const Grammar& grammar, std::shared_ptr<const VocabularyTree> vocabulary)
    : vocabulary_(std::move(vocabulary)),
      matcher_(GrammarAccess::network(grammar)),
      state_(matcher_.start()),
      allowed_(static_cast<std::size_t>(vocabulary_->vocab())),
      path_(std::max(vocabulary_->plain_.deepest, vocabulary_->others_.deepest) + 1) {
    find_allowed();
}

void TokenMask::follow(std::span<const std::int32_t> tokens) {
    const bool goes_on = tokens.size() >= taken_.size() && std::ranges::equal(taken_, tokens.first(taken_.size()));
    if (goes_on && tokens.size() == taken_.size()) return;
    if (!goes_on) {
        taken_.clear();
        state_ = matcher_.start();
        ended_ = false;
    }
    for (const std::int32_t token : tokens.subspan(taken_.size())) take(token);
    find_allowed();
}

void TokenMask::take(std::int32_t token) {
    taken_.push_back(token);
    const std::string& bytes = vocabulary_->bytes(token);
    ended_ = ended_ || bytes.empty();
    if (matcher_.is_full()) {
        state_ = matcher_.forget_but(state_);
        allowed_of_.reset();
    }
    matcher_.begin_search();
    try {
        if (ended_) return;
        const Matcher::State after = matcher_.step(state_, bytes);
        ended_ = after == Matcher::dead && vocabulary_->is_special(token);
        if (!ended_) state_ = after;
    } catch (const Error&) {  // too ambiguous
        state_ = Matcher::dead;
    }
}

void TokenMask::find_allowed() {
    may_end_ = matcher_.may_end(state_);
    if (!ended_ && allowed_of_ == state_) return;  // as often within a text without a form
    allowed_.assign(allowed_.size(), false);
    any_allowed_ = false;
    allowed_of_ = ended_ ? std::nullopt : std::optional(state_);
    if (ended_ || !matcher_.may_go_on(state_)) return;
    try {
        matcher_.begin_search();
        if (!allow_plain()) allow(vocabulary_->plain_);
        allow(vocabulary_->others_);
    } catch (const Error&) {  // too ambiguous: only what was found before may follow
    }
}

void TokenMask::allow(const VocabularyTree::Tree& tree) {
    for (std::uint32_t i = 0; i < tree.nodes.size();) {
        const VocabularyTree::Node& node = tree.nodes[i];
        const Matcher::State after = matcher_.step(node.depth == 0 ? state_ : path_[node.depth - 1u], node.byte);
        if (after == Matcher::dead) {
            i = node.end;
            continue;
        }
        path_[node.depth] = after;
        for (std::uint32_t token = node.first_token; token < node.last_token; ++token) allow(tree.tokens[token]);
        ++i;
    }
}

// How many characters may follow of those that are plain, where that does not depend on which.
bool TokenMask::allow_plain() {
    const auto& tokens = vocabulary_->plain_by_length_;
    if (tokens.empty()) return true;
    const std::size_t longest = tokens.back().first;
    std::size_t room = 0;
    for (Matcher::State at = state_; room < longest; ++room) {
        const std::optional<Matcher::State> next = matcher_.after_any_plain_char(at);
        if (!next) return false;
        if (*next == Matcher::dead) break;
        if (*next == at) {
            room = longest;
            break;
        }
        at = *next;
    }
    for (const auto& [length, token] : tokens) {
        if (length > room) break;
        allow(token);
    }
    return true;
}

}  // namespace vantage::text::grammar
