// Which tokens may follow in a text of a grammar.
//
// The bytes of all tokens are a tree, and the grammar is followed along it, from where the text stands: what a branch
// shares is followed once, and a branch that the grammar does not allow is skipped. Most tokens are characters that a
// JSON string may have without an escape; where the grammar takes any of these, they are not looked at one by one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/text/grammar/matcher.h"
#include "vantage/grammar.h"
#include "vantage/tokenizer.h"

namespace vantage::text::grammar {

/// The bytes of a vocabulary's tokens; of a special one those that stand for it.
class VocabularyTree {
public:
    /// `vocab`: ids from there on are none of the model's.
    VocabularyTree(const Tokenizer& tokenizer, std::int64_t vocab);

    std::int64_t vocab() const { return std::ssize(bytes_); }
    const std::string& bytes(std::int32_t token) const { return bytes_[static_cast<std::size_t>(token)]; }
    bool is_special(std::int32_t token) const { return special_[static_cast<std::size_t>(token)]; }

private:
    friend class TokenMask;
    // A node for each beginning of a token, in the order of a walk, so that what is below a node comes right behind it.
    struct Node {
        std::uint32_t end;                      // of what is below it
        std::uint32_t first_token, last_token;  // of `tokens`: those that end here
        std::uint16_t depth;                    // of the root's children: 0
        std::uint8_t byte;
    };
    struct Tree {
        std::vector<Node> nodes;
        std::vector<std::int32_t> tokens;
        std::size_t deepest = 0;
    };
    static Tree tree_of(std::vector<std::int32_t> tokens, const std::vector<std::string>& bytes);

    std::vector<std::string> bytes_;  // by id; empty: the token is never drawn
    std::vector<bool> special_;
    Tree plain_, others_;  // tokens of plain characters only (Matcher::after_any_plain_char), and the others
    std::vector<std::pair<std::size_t, std::int32_t>> plain_by_length_;  // characters, token; the fewest first
};

/// Where a sequence of tokens stands in a grammar.
class TokenMask {
public:
    TokenMask(const Grammar& grammar, std::shared_ptr<const VocabularyTree> vocabulary);

    /// The text is what these tokens make. Those that it had before are not followed again. A special token that may
    /// not follow ends it, as end tokens do, and so does one without bytes.
    void follow(std::span<const std::int32_t> tokens);
    /// By token: whether it may follow.
    const std::vector<bool>& allowed() const { return allowed_; }
    bool any_allowed() const { return any_allowed_; }
    /// The text is whole.
    bool may_end() const { return may_end_; }

private:
    void take(std::int32_t token);
    void find_allowed();
    void allow(const VocabularyTree::Tree& tree);
    bool allow_plain();
    void allow(std::int32_t token) { allowed_[static_cast<std::size_t>(token)] = any_allowed_ = true; }

    std::shared_ptr<const VocabularyTree> vocabulary_;
    Matcher matcher_;
    Matcher::State state_;
    std::vector<std::int32_t> taken_;
    std::vector<bool> allowed_;
    std::optional<Matcher::State> allowed_of_;  // what allowed_ was found for
    bool any_allowed_ = false, may_end_ = false, ended_ = false;
    std::vector<Matcher::State> path_;  // of a walk, by depth
};

}  // namespace vantage::text::grammar
