// Two texts on one row of slots, against the longest common subsequence by its definition.
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <random>

#include "runtime/base/at.h"
#include "viewer/data/alignment.h"

using namespace vantage::view;
using vantage::internal::at;

namespace {

using AlignedIds = std::vector<std::int64_t>;

/// By recursion over all ways to leave out tokens.
std::size_t longest_common(const AlignedIds& a, const AlignedIds& b, std::size_t i, std::size_t j,
                           std::map<std::pair<std::size_t, std::size_t>, std::size_t>& known) {
    if (i == a.size() || j == b.size()) return 0;
    const auto found = known.find({i, j});
    if (found != known.end()) return found->second;
    std::size_t best = std::max(longest_common(a, b, i + 1, j, known), longest_common(a, b, i, j + 1, known));
    if (a[i] == b[j]) best = std::max(best, 1 + longest_common(a, b, i + 1, j + 1, known));
    return known[{i, j}] = best;
}
std::size_t longest_common(const AlignedIds& a, const AlignedIds& b) {
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> known;
    return longest_common(a, b, 0, 0, known);
}

AlignedIds random_tokens(std::mt19937& random, std::size_t maximum, std::int64_t kinds) {
    AlignedIds tokens(std::uniform_int_distribution<std::size_t>(0, maximum)(random));
    for (std::int64_t& token : tokens) token = std::uniform_int_distribution<std::int64_t>(0, kinds - 1)(random);
    return tokens;
}

/// Every token of each text has one slot, in order, and no slot is empty.
void check_slots(const Alignment& slots, const AlignedIds& a, const AlignedIds& b) {
    std::int64_t next_a = 0, next_b = 0;
    for (std::int64_t slot = 0; slot < slots.count(); ++slot) {
        const auto in_a = slots.a.token(slot), in_b = slots.b.token(slot);
        REQUIRE((in_a || in_b));
        if (in_a) {
            REQUIRE(*in_a == next_a++);
            REQUIRE(slots.a.slot_of(*in_a) == slot);
        }
        if (in_b) {
            REQUIRE(*in_b == next_b++);
            REQUIRE(slots.b.slot_of(*in_b) == slot);
        }
        REQUIRE(slots.a.tokens_before(slot + 1) == next_a);
        REQUIRE(slots.b.tokens_before(slot + 1) == next_b);
    }
    REQUIRE(next_a == std::ssize(a));
    REQUIRE(next_b == std::ssize(b));
}

std::size_t equal_pairs(const Alignment& slots, const AlignedIds& a, const AlignedIds& b) {
    std::size_t pairs = 0;
    for (std::int64_t slot = 0; slot < slots.count(); ++slot)
        if (slots.paired(slot) && at(a, *slots.a.token(slot)) == at(b, *slots.b.token(slot))) ++pairs;
    return pairs;
}

}  // namespace

TEST_CASE("an alignment pairs a longest common subsequence", "[view]") {
    std::mt19937 random(5);
    for (int i = 0; i < 400; ++i) {
        const std::int64_t kinds = 1 + i % 7;
        const AlignedIds a = random_tokens(random, 24, kinds), b = random_tokens(random, 24, kinds);
        const Alignment slots = align({a}, {b});
        check_slots(slots, a, b);
        CHECK(equal_pairs(slots, a, b) == longest_common(a, b));
        const Alignment turned = align({b}, {a});
        CHECK(equal_pairs(turned, b, a) == equal_pairs(slots, a, b));
    }
}

TEST_CASE("words in place of others are pairs, words too many are alone", "[view]") {
    const AlignedIds a{1, 2, 3, 4, 5}, one_other{1, 2, 9, 4, 5}, one_more{1, 2, 3, 8, 4, 5},
        longer{1, 2, 3, 7, 7, 7, 7};
    Alignment slots = align({a}, {one_other});
    CHECK(slots.count() == 5);
    CHECK(slots.paired(2));
    slots = align({a}, {one_more});
    REQUIRE(slots.count() == 6);
    CHECK_FALSE(slots.a.token(3).has_value());
    CHECK(slots.b.token(3) == 3);
    CHECK(slots.a.slot_of(3) == 4);
    slots = align({a}, {longer});  // behind the last pair as far as both go
    REQUIRE(slots.count() == 7);
    CHECK(slots.paired(4));
    CHECK_FALSE(slots.paired(5));
    // what was written is not paired with what was given
    const AlignedIds given{1, 2, 3}, shorter{3, 1, 2, 3};
    slots = align({given, 3}, {shorter, 1});
    CHECK(equal_pairs(slots, given, shorter) == 1);
    CHECK(slots.paired(slots.a.slot_of(2)));
    const Slots plain;
    CHECK(plain.token(7) == 7);
    CHECK(plain.slot_of(7) == 7);
    CHECK(plain.tokens_before(7) == 7);
    CHECK(align({}, {}).count() == 0);
}

TEST_CASE("long texts are aligned in a band", "[view]") {
    std::mt19937 random(7);
    AlignedIds a(9000);
    for (std::int64_t& token : a) token = std::uniform_int_distribution<std::int64_t>(0, 3000)(random);
    AlignedIds b = a;
    b.insert(b.begin() + 5, {-1, -2, -3});
    b[4000] = -4;
    b.erase(b.begin() + 8000, b.begin() + 8010);
    b.back() = -5;
    const Alignment slots = align({a}, {b});
    check_slots(slots, a, b);
    CHECK(equal_pairs(slots, a, b) == 9000 - 10 - 2);
    const AlignedIds one{42}, many(20000, 42);
    check_slots(align({one}, {many}), one, many);
    check_slots(align({many}, {one}), many, one);
}

TEST_CASE("an alignment of texts that grow leaves what is old as it is, and ends as the whole one", "[view]") {
    std::mt19937 random(9);
    AlignedIds a(700), b;
    for (std::int64_t& token : a) token = std::uniform_int_distribution<std::int64_t>(0, 50)(random);
    for (const std::int64_t token : a)
        if (random() % 9 != 0) b.push_back(random() % 11 == 0 ? -1 : token);
    Aligner aligner;
    Slots before;
    for (std::size_t n = 1; n <= a.size(); n += 7) {
        const std::size_t m = std::min(b.size(), n * b.size() / a.size() + n % 3);
        const AlignedText some_a{std::span(a).first(n)}, some_b{std::span(b).first(m)};
        aligner.update(some_a, some_b, false);
        check_slots(aligner.now(), AlignedIds(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(n)),
                    AlignedIds(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(m)));
        const Slots& now = aligner.now().a;
        const std::size_t settled = before.before.size() > 400 ? before.before.size() - 400 : 0;
        CHECK(std::equal(before.before.begin(), before.before.begin() + static_cast<std::ptrdiff_t>(settled),
                         now.before.begin()));
        before = now;
    }
    aligner.update({a}, {b}, true);
    CHECK(aligner.now() == align({a}, {b}));
    CHECK_FALSE(aligner.update({a}, {b}, true));
}
