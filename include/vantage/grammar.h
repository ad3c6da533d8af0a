// Grammars that generated texts follow: GBNF, regular expressions, JSON schemas and lists of texts.
//
//     Sampling sampling;
//     sampling.grammar = Grammar::json_schema(R"({"type": "object", "properties": {"age": {"type": "integer"}}})");
//
// A token is drawn only if the text with it begins a text of the grammar, and an end token only if it is one. This
// chooses among tokens by masks over their logits; probabilities of those left keep their proportions. Method: the
// bytes of each token are followed through the grammar (Willard, Louf 2023, arXiv:2307.09702), here with stacks for the
// rules that it is in (as in XGrammar, arXiv:2411.15100).
//
// Threads: any.
// Errors: usage, with what is wrong and where in the text.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace vantage {

namespace text::grammar {
struct Network;
}
namespace internal {
struct GrammarAccess;
}

/// A grammar, never changed: copies share what they hold.
///
/// Threads: any. Moving copies, so a moved-from grammar stays valid.
class Grammar {
public:
    Grammar(const Grammar&) = default;
    Grammar& operator=(const Grammar&) = default;
    /// llama.cpp's GBNF; the text is the rule "root". Left recursion and tokens in <> are not supported.
    static Grammar gbnf(std::string_view rules);
    /// A regular expression that the whole text matches: literals, classes, groups, | * + ? {m,n} and \d \w \s. Without
    /// backreferences, lookaround and word boundaries.
    static Grammar regex(std::string_view pattern);
    /// One of these texts; there must be at least one.
    static Grammar one_of(std::span<const std::string> texts);
    /// JSON that a schema allows, given as JSON itself, with properties in the schema's order. docs/serving.md has the
    /// list of keywords; others are refused by name.
    static Grammar json_schema(std::string_view schema);
    /// Any JSON object.
    static Grammar json_object();

    /// Whether the whole text fits the grammar. Throws usage for a grammar that is too ambiguous to tell.
    bool accepts(std::string_view utf8) const;

private:
    friend struct internal::GrammarAccess;
    explicit Grammar(text::grammar::Network network);
    std::shared_ptr<const text::grammar::Network> network_;
};

}  // namespace vantage
