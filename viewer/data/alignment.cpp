#include "viewer/data/alignment.h"

#include <algorithm>

#include "runtime/base/at.h"

namespace vantage::view {

namespace {

using Tokens = std::span<const std::int64_t>;

constexpr std::int64_t max_cells = 4'000'000;  // of the table of lengths: 16 MB
constexpr std::int64_t slots_that_move = 256;  // of a text that grows

/// Slots as they come.
class Builder {
public:
    explicit Builder(Alignment& to) : to_(to) {
        if (to_.a.plain()) to_.a.before = to_.b.before = {0};
    }
    void add(bool a, bool b) {
        to_.a.before.push_back(to_.a.before.back() + (a ? 1 : 0));
        to_.b.before.push_back(to_.b.before.back() + (b ? 1 : 0));
    }
    /// So many tokens of each that are not the same.
    void add_gap(std::int64_t a, std::int64_t b, bool at_end) {
        const std::int64_t pairs = a == b || at_end ? std::min(a, b) : 0;
        for (std::int64_t i = 0; i < pairs; ++i) add(true, true);
        for (std::int64_t i = pairs; i < a; ++i) add(true, false);
        for (std::int64_t i = pairs; i < b; ++i) add(false, true);
    }

private:
    Alignment& to_;
};

/// Lengths of the longest common subsequences of all ends of two texts, in a band around the diagonal.
class Lengths {
public:
    Lengths(Tokens a, Tokens b) : a_(a), b_(b), n_(std::ssize(a)), m_(std::ssize(b)) {
        reach_ = std::max(max_cells / (2 * n_ + 1), m_ / std::max<std::int64_t>(n_, 1) + 1);
        reach_ = std::min(reach_, m_);
        lengths_.assign(static_cast<std::size_t>((n_ + 1) * width()), 0);
        for (std::int64_t i = n_ - 1; i >= 0; --i)
            for (std::int64_t j = std::min(last(i), m_ - 1); j >= first(i); --j)
                cell(i, j) = same(i, j) ? 1 + at(i + 1, j + 1) : std::max(at(i + 1, j), at(i, j + 1));
    }
    bool same(std::int64_t i, std::int64_t j) const { return vantage::at(a_, i) == vantage::at(b_, j); }
    /// Whether the next token of `a` is to be left before that of `b`.
    bool leaves_a(std::int64_t i, std::int64_t j) const {
        if (!inside(i, j + 1)) return true;
        return inside(i + 1, j) && at(i + 1, j) >= at(i, j + 1);
    }

private:
    std::int64_t width() const { return 2 * reach_ + 1; }
    std::int64_t first(std::int64_t i) const { return std::max<std::int64_t>(middle(i) - reach_, 0); }
    std::int64_t last(std::int64_t i) const { return std::min(middle(i) + reach_, m_); }
    std::int64_t middle(std::int64_t i) const { return i * m_ / std::max<std::int64_t>(n_, 1); }
    bool inside(std::int64_t i, std::int64_t j) const { return i <= n_ && j >= first(i) && j <= last(i); }
    std::size_t place(std::int64_t i, std::int64_t j) const {
        return static_cast<std::size_t>(i * width() + j - middle(i) + reach_);
    }
    std::uint32_t at(std::int64_t i, std::int64_t j) const { return inside(i, j) ? lengths_[place(i, j)] : 0; }
    std::uint32_t& cell(std::int64_t i, std::int64_t j) { return lengths_[place(i, j)]; }

    Tokens a_, b_;
    std::int64_t n_, m_, reach_ = 0;
    std::vector<std::uint32_t> lengths_;
};

/// Adds slots for two texts. `open`: the tokens after them are not known yet, or there are none.
void align_tokens(Tokens a, Tokens b, bool open, Builder& to) {
    std::int64_t before = 0, after = 0;
    const std::int64_t shorter = std::min(std::ssize(a), std::ssize(b));
    const auto same = [&](std::int64_t i, std::int64_t j) { return at(a, i) == at(b, j); };
    while (before < shorter && same(before, before)) ++before;
    while (!open && before + after < shorter && same(std::ssize(a) - 1 - after, std::ssize(b) - 1 - after)) ++after;
    for (std::int64_t i = 0; i < before; ++i) to.add(true, true);
    const auto middle = [&](Tokens text) {
        return text.subspan(static_cast<std::size_t>(before),
                            static_cast<std::size_t>(std::ssize(text) - before - after));
    };
    const Tokens rest_a = middle(a), rest_b = middle(b);
    const std::int64_t n = std::ssize(rest_a), m = std::ssize(rest_b);
    std::int64_t i = 0, j = 0, gap_a = 0, gap_b = 0;
    if (n > 0 && m > 0) {
        const Lengths lengths(rest_a, rest_b);
        while (i < n && j < m) {
            if (lengths.same(i, j)) {
                to.add_gap(gap_a, gap_b, false);
                to.add(true, true);
                gap_a = gap_b = 0, ++i, ++j;
            } else if (lengths.leaves_a(i, j)) {
                ++i, ++gap_a;
            } else {
                ++j, ++gap_b;
            }
        }
    }
    to.add_gap(gap_a + n - i, gap_b + m - j, open);
    for (std::int64_t k = 0; k < after; ++k) to.add(true, true);
}

/// Both texts from some token of each on.
void align_rest(const AlignedText& a, const AlignedText& b, std::int64_t from_a, std::int64_t from_b, Builder to) {
    const auto part = [](const AlignedText& text, std::int64_t from, std::int64_t end) {
        return text.tokens.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(end - from));
    };
    const std::int64_t n = std::ssize(a.tokens), m = std::ssize(b.tokens);
    // The end of a prompt is known when both texts have tokens after it.
    const bool ended = n >= a.prompt && m >= b.prompt;
    const std::int64_t end_a = ended ? std::max(a.prompt, from_a) : from_a,
                       end_b = ended ? std::max(b.prompt, from_b) : from_b;
    align_tokens(part(a, from_a, end_a), part(b, from_b, end_b), false, to);
    align_tokens(part(a, end_a, n), part(b, end_b, m), true, to);
}

}  // namespace

std::int64_t Slots::tokens_before(std::int64_t slot) const {
    if (plain()) return slot;
    return before[std::min(static_cast<std::size_t>(slot), before.size() - 1)];
}

std::optional<std::int64_t> Slots::token(std::int64_t slot) const {
    if (plain()) return slot;
    const auto i = static_cast<std::size_t>(slot);
    if (slot < 0 || i + 1 >= before.size() || before[i + 1] == before[i]) return std::nullopt;
    return before[i];
}

std::int64_t Slots::slot_of(std::int64_t token) const {
    if (plain()) return token;
    return std::ranges::upper_bound(before, u32(token)) - before.begin() - 1;
}

Alignment align(const AlignedText& a, const AlignedText& b) {
    Alignment all;
    align_rest(a, b, 0, 0, Builder(all));
    return all;
}

bool Aligner::update(const AlignedText& a, const AlignedText& b, bool complete) {
    Alignment next;
    std::int64_t keep = complete ? 0 : std::max<std::int64_t>(now_.count() - slots_that_move, 0);
    while (keep > 0 && !now_.paired(keep - 1)) --keep;  // a pair is where nothing before moves by what comes
    if (keep > 0) {
        next = now_;
        next.a.before.resize(static_cast<std::size_t>(keep + 1));
        next.b.before.resize(static_cast<std::size_t>(keep + 1));
    }
    const std::int64_t from_a = keep > 0 ? next.a.before.back() : 0, from_b = keep > 0 ? next.b.before.back() : 0;
    align_rest(a, b, from_a, from_b, Builder(next));
    if (next == now_) return false;
    now_ = std::move(next);
    return true;
}

}  // namespace vantage::view
