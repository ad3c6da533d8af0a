// Alignment of two texts on one axis of slots. A slot holds one token of each text (a pair), or a token of one text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace vantage::view {

/// Which slots the tokens of one text have.
struct Slots {
    /// Number of tokens before each slot, then their total; empty: token i has slot i.
    std::vector<std::uint32_t> before;

    bool plain() const { return before.empty(); }
    /// Number of tokens before this slot.
    std::int64_t tokens_before(std::int64_t slot) const;
    /// The token of a slot; nothing if only the other text has one.
    std::optional<std::int64_t> token(std::int64_t slot) const;
    std::int64_t slot_of(std::int64_t token) const;
    bool operator==(const Slots&) const = default;
};

struct Alignment {
    Slots a, b;
    /// Without a table: all tokens are pairs.
    std::int64_t count() const { return a.plain() ? 0 : static_cast<std::int64_t>(a.before.size()) - 1; }
    bool paired(std::int64_t slot) const { return a.token(slot) && b.token(slot); }
    bool operator==(const Alignment&) const = default;
};

/// A text as numbers: equal tokens have equal numbers.
struct AlignedText {
    std::span<const std::int64_t> tokens;
    std::int64_t prompt = 0;  ///< tokens of the prompt; the others are generated
};

/// Pairs a longest common subsequence, of prompts and generated texts separately. Tokens between two pairs are paired
/// if both texts have the same number of them; tokens after the last pair are paired while both texts continue.
///
/// Exact if the product of the lengths, without common prefix and suffix, is at most 4 million. For longer texts, pairs
/// are searched in a diagonal band of that many cells.
Alignment align(const AlignedText& a, const AlignedText& b);

/// Alignment of growing texts. Only the last few hundred slots can change until both texts are complete.
class Aligner {
public:
    /// Returns whether the alignment changed.
    bool update(const AlignedText& a, const AlignedText& b, bool complete);
    void clear() { now_ = {}; }
    const Alignment& now() const { return now_; }

private:
    Alignment now_;
};

}  // namespace vantage::view
