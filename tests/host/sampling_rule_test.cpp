// The specification of sampling on the host: known answers of the random numbers, and sets that can be told by hand.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "runtime/ops/sampling.h"

using namespace vantage;

namespace {

// Logits of tokens with these probabilities.
std::vector<double> logits_of(const std::vector<double>& probabilities) {
    std::vector<double> x;
    x.reserve(probabilities.size());
    for (double p : probabilities) x.push_back(std::log(p));
    return x;
}

std::vector<std::size_t> kept(const std::vector<double>& logits, SamplingRule rule) {
    const std::vector<std::uint64_t> weights = sampling_weights(logits, rule);
    std::vector<std::size_t> tokens;
    for (std::size_t i = 0; i < weights.size(); ++i)
        if (weights[i] > 0) tokens.push_back(i);
    return tokens;
}

using Tokens = std::vector<std::size_t>;

}  // namespace

TEST_CASE("Philox4x32-10 gives the known answers of Random123", "[sampling]") {
    using Words = std::array<std::uint32_t, 4>;
    CHECK(philox({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    CHECK(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
          Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("top-k, top-p and min-p keep what they say", "[sampling]") {
    const std::vector<double> x = logits_of({0.1, 0.4, 0.05, 0.25, 0.2});
    CHECK(kept(x, {}) == Tokens{0, 1, 2, 3, 4});
    CHECK(kept(x, {.top_k = 2}) == Tokens{1, 3});
    CHECK(kept(x, {.top_p = 0.6f}) == Tokens{1, 3});
    CHECK(kept(x, {.top_p = 0.7f}) == Tokens{1, 3, 4});
    CHECK(kept(x, {.top_p = 0}) == Tokens{1});
    CHECK(kept(x, {.min_p = 0.3f}) == Tokens{1, 3, 4});
    CHECK(kept(x, {.top_k = 3, .top_p = 0.7f}) == Tokens{1, 3});  // 0.7 of the mass of three: 0.595
    CHECK(kept(x, {.temperature = 0.25f, .top_p = 0.8f}) == Tokens{1});
    CHECK(kept(x, {.temperature = 0}) == Tokens{1});
    CHECK(kept({2, 1, 2, 2, 0}, {.top_k = 1}) == Tokens{0, 2, 3});  // equal values stay together
    CHECK(kept({2, 1, 2, 2, 0}, {.top_p = 0.1f}) == Tokens{0, 2, 3});
    CHECK(kept({2, 1, 2, 2, 0}, {.temperature = 0}) == Tokens{0});
}

TEST_CASE("NaN is no token, infinities are no trouble", "[sampling]") {
    const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(kept({nan, 1, -inf, 0}, {}) == Tokens{1, 3});
    CHECK(kept({nan, 1, inf, 0}, {.top_k = 3}) == Tokens{2});
    CHECK(kept({-inf, nan}, {}).empty());
    CHECK(sampling_draw(sampling_weights(std::vector<double>{-inf, nan}, {}), 0xffffffffu) == 0);
}

TEST_CASE("a draw takes the token in which the sum passes the random number, and never one without weight",
          "[sampling]") {
    const std::vector<std::uint64_t> weights{0, 1u << 31, 0, 1u << 30, 1u << 30, 0};
    CHECK(sampling_draw(weights, 0) == 1);
    CHECK(sampling_draw(weights, 0x7fffffffu) == 1);
    CHECK(sampling_draw(weights, 0x80000000u) == 3);
    CHECK(sampling_draw(weights, 0xbfffffffu) == 3);
    CHECK(sampling_draw(weights, 0xc0000000u) == 4);
    CHECK(sampling_draw(weights, 0xffffffffu) == 4);
    const std::vector<std::uint64_t> many(std::size_t{1} << 18, std::uint64_t{1} << 31);  // 2^49 in all
    CHECK(sampling_draw(many, 0xffffffffu) == many.size() - 1);
}
