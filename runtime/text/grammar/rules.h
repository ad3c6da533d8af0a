// Grammars as rules over bytes, put together from parts: characters, sequences, choices, repetitions, other rules.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vantage::text::grammar {

/// Code points from `first` to `last`, both included.
struct CharRange {
    char32_t first, last;
    bool operator==(const CharRange&) const = default;
};
using CharRanges = std::vector<CharRange>;
inline constexpr char32_t last_code_point = 0x10FFFF, first_surrogate = 0xD800, last_surrogate = 0xDFFF;
inline bool is_surrogate(char32_t code) { return code >= first_surrogate && code <= last_surrogate; }
/// How often a part may be asked to repeat.
inline constexpr std::int64_t most_repetitions = 10'000;
/// Sorted, without overlaps and surrogates.
CharRanges normalised(CharRanges ranges);
/// All other code points. Takes and gives normalised ranges.
CharRanges complement(const CharRanges& ranges);
inline CharRanges any_code_point() { return complement({}); }
/// Those that are in both. Takes and gives normalised ranges.
CharRanges intersection(const CharRanges& a, const CharRanges& b);

/// Rules as a network of nodes. From a node a text goes on by a byte of one of its ranges, or without one: to each of
/// its `ways`, through a rule and then to `after`, or back to where its rule was called from.
struct Network {
    struct ByteRange {
        std::uint8_t first, last;
        std::uint32_t to;
    };
    struct Node {
        enum Kind : std::uint8_t { bytes, ways, call, end } kind = ways;
        std::vector<ByteRange> ranges = {};
        std::vector<std::uint32_t> to = {};  ///< of ways
        std::uint32_t rule = 0, after = 0;   ///< of a call: the first node of the rule, and where it goes on
    };
    std::vector<Node> nodes;
    std::uint32_t start = 0;
};

/// What stands for a special token among the bytes of a text: a byte that UTF-8 does not have, and the id.
std::string special_token_bytes(std::int32_t id);

/// A piece of a grammar; belongs to the builder that made it, and may be used many times.
using Part = std::uint32_t;
/// A rule of a builder.
using Rule = std::uint32_t;

class RuleBuilder {
public:
    /// The empty text.
    Part nothing() { return sequence({}); }
    /// No text at all.
    Part never() { return choice({}); }
    /// This text.
    Part text(std::string_view text);
    /// One character of these, in UTF-8. Surrogates are left out.
    Part one_of(CharRanges ranges);
    /// A special token, which the text of no other part can be.
    Part special_token(std::int32_t id) { return text(special_token_bytes(id)); }
    /// A text of another grammar.
    Part embedded(std::shared_ptr<const Network> other);
    Part sequence(std::vector<Part> parts);
    Part choice(std::vector<Part> parts);
    /// From `least` to `most` times. Throws usage where most < least.
    Part repeat(Part part, std::int64_t least, std::optional<std::int64_t> most);
    Part optional(Part part) { return repeat(part, 0, 1); }

    /// A rule may be used before it is defined.
    Rule declare(std::string name);
    void define(Rule rule, Part part);
    bool is_defined(Rule rule) const;
    Part use(Rule rule);

    /// The rules that `root` needs. Throws usage: a rule is not defined or calls itself before it takes a byte (left
    /// recursion), no text fits `root`, or the network has more than 2^18 nodes.
    Network build(Rule root) const;

private:
    friend class NetworkMaker;
    struct Piece {
        enum class Kind : std::uint8_t { text, chars, sequence, choice, repeat, rule, network } kind;
        std::string bytes = {};
        CharRanges ranges = {};
        std::vector<Part> parts = {};
        std::int64_t least = 0;
        std::optional<std::int64_t> most = {};
        Rule rule_used = 0;
        std::shared_ptr<const Network> network = {};
    };
    struct NamedRule {
        std::string name;
        std::optional<Part> part = {};
    };
    Part add(Piece piece);

    std::vector<Piece> pieces_;
    std::vector<NamedRule> rules_;
};

}  // namespace vantage::text::grammar
