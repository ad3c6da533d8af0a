// Two texts side by side, token by token. An alignment lays both on one row of slots, in their order: a slot holds a token of each
// (a pair), or of one alone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace vantage::view {

/// Which slots the tokens of one text have.
struct Slots {
    /// How many tokens stand before each slot, and at the end how many there are; empty: token i has slot i, for all i.
    std::vector<std::uint32_t> before;

    bool plain() const { return before.empty(); }
    /// Tokens in the slots below this one.
    std::int64_t tokens_before(std::int64_t slot) const;
    /// The token of a slot; nothing where another text has one alone.
    std::optional<std::int64_t> token(std::int64_t slot) const;
    std::int64_t slot_of(std::int64_t token) const;
    bool operator==(const Slots&) const = default;
};

struct Alignment {
    Slots a, b;
    /// Without a table; all tokens are pairs then.
    std::int64_t count() const { return a.plain() ? 0 : static_cast<std::int64_t>(a.before.size()) - 1; }
    bool paired(std::int64_t slot) const { return a.token(slot) && b.token(slot); }
    bool operator==(const Alignment&) const = default;
};

/// A text as numbers that are equal where its tokens are.
struct AlignedText {
    std::span<const std::int64_t> tokens;
    std::int64_t prompt = 0;  ///< tokens that were given; the others have been written
};

/// The longest common subsequence is paired, of prompts and of what was written apart; so are tokens between such pairs where both
/// texts have as many of them (one word in place of another), and behind the last pair as far as both go.
///
/// Exact up to 4 million products of the lengths that are left without common beginnings and ends; of longer texts pairs are sought
/// only in a band of so many cells around the diagonal.
Alignment align(const AlignedText& a, const AlignedText& b);

/// An alignment of texts that grow: what is more than some hundred slots old stays as it is until both texts are complete.
class Aligner {
public:
    /// True when the alignment is another than before.
    bool update(const AlignedText& a, const AlignedText& b, bool complete);
    void clear() { now_ = {}; }
    const Alignment& now() const { return now_; }

private:
    Alignment now_;
};

}  // namespace vantage::view
