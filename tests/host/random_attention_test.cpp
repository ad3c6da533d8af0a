// What attention draws from a seed: BigBird's blocks, and Performer's vectors. Both on the host, before anything runs.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <set>

#include "expect_error.h"
#include "runtime/base/at.h"
#include "vantage/ops.h"

using namespace vantage;
using vantage::test::expect_error;

TEST_CASE("BigBird's mask: global blocks, a window, and so many random blocks in each row", "[attention]") {
    constexpr std::int64_t blocks = 40;
    const BigBirdOptions options{.global = 2, .window = 3, .random = 4, .seed = 11};
    const std::vector<std::int32_t> mask = bigbird_block_mask(blocks, options);
    REQUIRE(mask.size() == blocks * blocks);
    std::set<std::int64_t> columns;  // of random blocks
    for (std::int64_t i = 0; i < blocks; ++i) {
        std::int64_t random = 0;
        for (std::int64_t j = 0; j < blocks; ++j) {
            const bool seen = at(mask, i * blocks + j) == 1;
            if (i < 2 || j < 2 || std::abs(i - j) <= 1) {
                CHECK(seen);
            } else if (seen) {
                ++random;
                columns.insert(j);
            }
        }
        CHECK(random == (i < 2 ? 0 : 4));
    }
    CHECK(columns.size() > 30);  // 152 draws of 38 columns: fewer would be no accident
    CHECK(mask == bigbird_block_mask(blocks, options));
    BigBirdOptions other = options;
    other.seed = 12;
    CHECK(mask != bigbird_block_mask(blocks, other));
    // more random blocks than there are others: all of them
    const std::vector<std::int32_t> small = bigbird_block_mask(6, {.global = 1, .window = 3, .random = 9});
    CHECK(std::count(small.begin(), small.end(), 1) == 36);
    CHECK(bigbird_block_mask(0).empty());
    const std::vector<std::int32_t> diagonal = bigbird_block_mask(5, {.global = 0, .window = 1, .random = 0});
    CHECK(std::accumulate(diagonal.begin(), diagonal.end(), 0) == 5);
    expect_error(ErrorKind::usage, {"bigbird_block_mask", "window of 4", "odd"},
                 [] { bigbird_block_mask(8, {.window = 4}); });
    expect_error(ErrorKind::usage, {"-1 blocks"}, [] { bigbird_block_mask(-1); });
}

TEST_CASE("Performer's vectors are orthogonal by blocks, and their lengths are those of normal vectors",
          "[attention]") {
    constexpr std::size_t width = 12, features = 30;
    const std::vector<float> w = performer_projection(features, width, 3);
    const auto dot = [&](std::size_t a, std::size_t b) {
        return std::inner_product(&w[a * width], &w[a * width] + width, &w[b * width], 0.0);
    };
    for (std::size_t a = 0; a < features; ++a)
        for (std::size_t b = 0; b < a; ++b)
            if (a / width == b / width) CHECK(std::abs(dot(a, b)) < 1e-5 * std::sqrt(dot(a, a) * dot(b, b)));
    CHECK(w == performer_projection(features, width, 3));
    CHECK(w != performer_projection(features, width, 4));
    double squares = 0;  // each has a mean of `width` and a variance of 2 width
    constexpr std::size_t many = 3000;
    for (const float x : performer_projection(many, width, 5))
        squares += static_cast<double>(x) * static_cast<double>(x);
    const double deviation = std::sqrt(2.0 * width / many);
    CHECK(std::abs(squares / many - width) < 4 * deviation);
    expect_error(ErrorKind::usage, {"performer_projection", "0 features"}, [] { performer_projection(0, 4, 1); });
}

TEST_CASE("Performer's features estimate exp(q·k) without a bias", "[attention]") {
    const double q[] = {0.25, -0.15, 0.4, 0.05}, k[] = {0.2, 0.3, 0.35, -0.1};
    const double want = std::exp(std::inner_product(q, q + 4, k, 0.0)),
                 halves = (std::inner_product(q, q + 4, q, 0.0) + std::inner_product(k, k + 4, k, 0.0)) / 2;
    constexpr int seeds = 2000, features = 8;
    double sum = 0, squares = 0;
    for (int seed = 0; seed < seeds; ++seed) {
        const std::vector<float> w = performer_projection(features, 4, static_cast<std::uint64_t>(seed));
        double estimate = 0;
        for (std::size_t r = 0; r < features; ++r) {
            double along = 0;
            for (std::size_t i = 0; i < 4; ++i) along += static_cast<double>(w[r * 4 + i]) * (q[i] + k[i]);
            estimate += std::exp(along - halves) / features;
        }
        sum += estimate;
        squares += estimate * estimate;
    }
    const double mean = sum / seeds, error = std::sqrt((squares / seeds - mean * mean) / seeds);
    INFO(mean << " ± " << error << ", wanted " << want);
    CHECK(error < 0.05 * want);  // or the next line says nothing
    CHECK(std::abs(mean - want) < 4 * error);
}
