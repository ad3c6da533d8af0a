// Attention through layers: rollout and flow, on matrices small enough to follow by hand.
#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "runtime/base/at.h"
#include "runtime/inspect/attention_flow.h"

using namespace vantage;
using Catch::Approx;

namespace {

SquareMatrix random_rows(int size, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<double> weights(static_cast<std::size_t>(size * size));
    for (double& w : weights) w = std::uniform_real_distribution<double>(0, 1)(random);
    return with_residual(weights, size, 1);
}

}  // namespace

TEST_CASE("attention is averaged over heads, mixed with the residual stream, and sums to 1") {
    // two heads whose weights of row 1 add up to 0.6 and 1.4; row 0 has a sink that takes half
    const SquareMatrix mixed = with_residual(std::vector<double>{1, 0, 0.6, 1.4}, 2, 2);
    CHECK(mixed.at(0, 0) == Approx(1));
    CHECK(mixed.at(1, 0) == Approx(0.15));
    CHECK(mixed.at(1, 1) == Approx(0.85));
}

TEST_CASE("rollout is the product of the layers, last on the left") {
    const SquareMatrix one{2, {1, 0, 0.5, 0.5}}, two{2, {1, 0, 0.25, 0.75}};
    const SquareMatrix both = attention_rollout(std::vector{one, two});
    CHECK(both.values == std::vector<double>{1, 0, 0.25 + 0.75 * 0.5, 0.75 * 0.5});
}

TEST_CASE("flow through one layer is its weights, through two the sum of the narrower edges") {
    const std::vector<SquareMatrix> layers{random_rows(6, 1), random_rows(6, 2)};
    const SquareMatrix one = attention_flow(std::span(layers).first(1)), two = attention_flow(layers);
    for (int i = 0; i < 6; ++i)
        for (int j = 0; j < 6; ++j) {
            CHECK(one.at(i, j) == Approx(layers[0].at(i, j)));
            double sum = 0;  // the ways over different tokens in the middle share no edge
            for (int k = 0; k < 6; ++k) sum += std::min(layers[1].at(i, k), layers[0].at(k, j));
            CHECK(two.at(i, j) == Approx(sum));
        }
}

TEST_CASE("flow through three layers is the smallest cut") {
    std::vector<SquareMatrix> layers{random_rows(3, 3), random_rows(3, 4), random_rows(3, 5)};
    const SquareMatrix flow = attention_flow(layers);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            double min_cut = 1e9;  // over all ways to put the two inner layers' tokens on the source's side
            for (unsigned side = 0; side < 64; ++side) {
                const auto at_source = [&](int layer, int token) {
                    return layer == 3 ? token == i : layer > 0 && (side >> (3 * (layer - 1) + token) & 1u) != 0;
                };
                double cut = 0;
                for (int layer = 1; layer <= 3; ++layer)
                    for (int a = 0; a < 3; ++a)
                        for (int b = 0; b < 3; ++b) {
                            if (layer == 3 && a != i) continue;  // the other last states lead nowhere
                            if (layer == 1 && b != j) continue;  // the other inputs take nothing
                            if (at_source(layer, a) && !at_source(layer - 1, b)) cut += at(layers, layer - 1).at(a, b);
                        }
                min_cut = std::min(min_cut, cut);
            }
            CHECK(flow.at(i, j) == Approx(min_cut));
        }
}
