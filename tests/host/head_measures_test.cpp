// Composition of heads, effective rank, similarity of embeddings and fitted Gaussians, against their definitions.
#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <numeric>
#include <random>

#include "runtime/inspect/effective_rank.h"
#include "runtime/inspect/embedding_similarity.h"
#include "runtime/inspect/head_composition.h"
#include "runtime/inspect/head_pattern.h"
#include "runtime/inspect/permuted_weights.h"

using namespace vantage;
using Catch::Approx;

namespace {

using Matrix = std::vector<std::vector<double>>;

std::vector<float> random_numbers(std::size_t count, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<float> values;
    for (std::size_t i = 0; i < count; ++i)
        values.push_back(static_cast<float>(static_cast<double>(random()) / 0x1p31 - 1));
    return values;
}

Matrix as_matrix(const std::vector<float>& values, std::size_t columns) {
    Matrix m;
    for (std::size_t i = 0; i < values.size(); i += columns)
        m.emplace_back(values.begin() + static_cast<std::ptrdiff_t>(i),
                       values.begin() + static_cast<std::ptrdiff_t>(i + columns));
    return m;
}

Matrix transposed(const Matrix& a) {
    Matrix t(a[0].size(), std::vector<double>(a.size()));
    for (std::size_t i = 0; i < a.size(); ++i)
        for (std::size_t j = 0; j < a[0].size(); ++j) t[j][i] = a[i][j];
    return t;
}

Matrix product(const Matrix& a, const Matrix& b) {
    Matrix c(a.size(), std::vector<double>(b[0].size()));
    for (std::size_t i = 0; i < a.size(); ++i)
        for (std::size_t k = 0; k < b.size(); ++k)
            for (std::size_t j = 0; j < b[0].size(); ++j) c[i][j] += a[i][k] * b[k][j];
    return c;
}

double norm(const Matrix& a) {
    double sum = 0;
    for (const auto& row : a)
        for (const double x : row) sum += x * x;
    return std::sqrt(sum);
}

HeadWeights random_head(std::int64_t width, std::size_t key_width, std::size_t value_width, std::uint32_t seed) {
    const auto some = [&](std::size_t rows, std::uint32_t which) {
        return random_numbers(rows * static_cast<std::size_t>(width), 4 * seed + which);
    };
    return {width, some(key_width, 0), some(key_width, 1), some(value_width, 2), some(value_width, 3)};
}

double score(const std::vector<float>& reader, const std::vector<float>& writer, std::size_t width) {
    return norm(product(as_matrix(reader, width), transposed(as_matrix(writer, width))));
}

/// U diag(s) Vᵀ with rotations of random angles as U and V.
std::vector<float> with_singular_values(const std::vector<double>& values, std::size_t rows, std::size_t columns) {
    Matrix m(rows, std::vector<double>(columns));
    for (std::size_t i = 0; i < values.size(); ++i) m[i][i] = values[i];
    std::mt19937 random(7);
    for (int side = 0; side < 2; ++side) {
        for (int step = 0; step < 200; ++step) {
            const std::size_t a = random() % m.size(), b = random() % m.size();
            const double angle = static_cast<double>(random()) / 0x1p30;
            for (std::size_t j = 0; a != b && j < m[0].size(); ++j) {
                const double x = m[a][j], y = m[b][j];
                m[a][j] = std::cos(angle) * x - std::sin(angle) * y;
                m[b][j] = std::sin(angle) * x + std::cos(angle) * y;
            }
        }
        m = transposed(m);
    }
    std::vector<float> all;
    for (const auto& row : m)
        for (const double x : row) all.push_back(static_cast<float>(x));
    return all;
}

}  // namespace

TEST_CASE("composition scores are those of the matrices [width, width]", "[composition]") {
    constexpr std::size_t width = 19;
    const HeadWeights first = random_head(width, 5, 3, 1), second = random_head(width, 4, 6, 2);
    const CompositionFactors writes = composition_factors(first), reads = composition_factors(second);
    const auto wide = [&](const std::vector<float>& a, const std::vector<float>& b) {
        return product(transposed(as_matrix(a, width)), as_matrix(b, width));
    };
    const Matrix ov_1 = wide(first.o, first.v), ov_2 = wide(second.o, second.v), qk = wide(second.q, second.k);
    const auto want = [&](const Matrix& a) { return norm(product(a, ov_1)) / norm(a) / norm(ov_1); };
    CHECK(score(reads.q, writes.out, width) == Approx(want(transposed(qk))).epsilon(1e-5));
    CHECK(score(reads.k, writes.out, width) == Approx(want(qk)).epsilon(1e-5));
    CHECK(score(reads.v, writes.out, width) == Approx(want(ov_2)).epsilon(1e-5));
    CHECK(score(reads.q, writes.out, width) != Approx(score(reads.k, writes.out, width)).epsilon(1e-3));
}

TEST_CASE("independent heads have the expected composition, a head of zeros none", "[composition]") {
    constexpr std::size_t width = 64;
    double squares = 0;
    constexpr std::uint32_t pairs = 60;
    for (std::uint32_t i = 0; i < pairs; ++i) {
        const CompositionFactors a = composition_factors(random_head(width, 4, 4, 100 + 2 * i)),
                                 b = composition_factors(random_head(width, 4, 4, 101 + 2 * i));
        squares += std::pow(score(b.k, a.out, width), 2);
    }
    CHECK(std::sqrt(squares / pairs) == Approx(expected_composition(width)).epsilon(0.05));
    HeadWeights none = random_head(width, 4, 4, 5);
    std::ranges::fill(none.o, 0.0f);
    const CompositionFactors zeros = composition_factors(none);
    CHECK(std::ranges::all_of(zeros.out, [](float x) { return x == 0; }));
    CHECK(std::ranges::all_of(zeros.v, [](float x) { return x == 0; }));
    HeadWeights same = random_head(width, 4, 4, 6);  // features that depend on each other
    std::copy_n(same.v.begin(), width, same.v.begin() + width);
    CHECK(norm(as_matrix(composition_factors(same).out, width)) == Approx(1));
}

TEST_CASE("singular values of a matrix made of them", "[rank]") {
    const std::vector<double> values{5, 3, 3, 1, 0.01, 0};
    for (const auto& [rows, columns] : {std::pair<std::size_t, std::size_t>{6, 6}, {6, 11}, {17, 6}}) {
        const std::vector<double> found = singular_values(with_singular_values(values, rows, columns), rows, columns);
        REQUIRE(found.size() == 6);
        for (std::size_t i = 0; i < 6; ++i) CHECK(found[i] == Approx(values[i]).margin(1e-5));
    }
    CHECK(singular_values({}, 0, 0).empty());
}

TEST_CASE("the effective rank counts directions by the entropy of their shares", "[rank]") {
    CHECK(effective_rank(std::vector<double>{2, 2, 2, 2}) == Approx(4));
    CHECK(effective_rank(std::vector<double>{7, 0, 0}) == Approx(1));
    CHECK(effective_rank(std::vector<double>{3, 1}) ==
          Approx(std::exp(-0.75 * std::log(0.75) - 0.25 * std::log(0.25))));
    CHECK(effective_rank(std::vector<double>{0, 0}) == 0);
    CHECK(std::isnan(effective_rank(std::vector<double>{1, std::nan("")})));
    // all rows of a head that rests on one token are equal
    std::vector<float> resting(40 * 40);
    for (std::size_t i = 0; i < 40; ++i) resting[i * 40 + 3] = 1;
    CHECK(effective_rank(singular_values(resting, 40, 40)) == Approx(1));
    // a previous-token head is a permutation, but for its first row
    std::vector<float> previous(40 * 40);
    for (std::size_t i = 0; i < 40; ++i) previous[i * 40 + (i + 39) % 40] = 1;
    CHECK(effective_rank(singular_values(previous, 40, 40)) == Approx(40));
}

TEST_CASE("similarity is the correlation of weights with cosines of embeddings", "[similarity]") {
    constexpr std::size_t n = 12, width = 5;
    const std::vector<float> embeddings = random_numbers(n * width, 3), cos = cosines(embeddings, n);
    for (std::size_t i = 0; i < n; ++i) {
        CHECK(cos[i * n + i] == Approx(1));
        double dot = 0, a = 0, b = 0;
        for (std::size_t d = 0; d < width; ++d) {
            const double x = embeddings[i * width + d], y = embeddings[(n - 1 - i) * width + d];
            dot += x * y, a += x * x, b += y * y;
        }
        CHECK(cos[i * n + n - 1 - i] == Approx(dot / std::sqrt(a * b)).margin(1e-6));
    }
    HeadTexts texts;
    for (std::size_t i = 0; i < n; ++i) texts.keys.ids.push_back(static_cast<std::int32_t>(i));
    const auto of = [&](double slope, bool causal) {
        texts.causal = causal;
        std::vector<float> weights(n * n);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < (causal ? i + 1 : n); ++j)
                weights[i * n + j] = static_cast<float>(0.1 * static_cast<double>(i) + slope * cos[i * n + j]);
        return embedding_similarity(weights, cos, texts, 2);
    };
    for (const bool causal : {false, true}) {
        CHECK(of(0.05, causal) == Approx(1).margin(1e-4));
        CHECK(of(-0.05, causal) == Approx(-1).margin(1e-4));
    }
    CHECK(std::isnan(embedding_similarity(std::vector<float>(n * n), cos, texts, 2)));
    // copies of the query's token do not count
    texts.causal = false;
    std::vector<float> copies = cos;
    texts.keys.ids[7] = texts.keys.ids[4];
    copies[7 * n + 4] = copies[4 * n + 7] = 100;
    CHECK(embedding_similarity(copies, cos, texts, 0) == Approx(1));
    CHECK(cosines(std::vector<float>(4), 2) == std::vector<float>(4));
}

TEST_CASE("a head whose weights follow the similarity of embeddings is semantic, unless a mass says more",
          "[similarity]") {
    HeadStatistics head;
    head.relative_entropy = 0.5, head.tokens = 10;
    head.similarity = 0.49;
    CHECK(pattern_of(head).kind == HeadPattern::mixed);
    head.similarity = 0.6;
    CHECK(pattern_of(head).label() == "semantic .60");
    CHECK(pattern_of(head).rule() == "correlation with the similarity of embeddings 0.60 ≥ 0.50");
    head.near = 0.7;
    CHECK(pattern_of(head).kind == HeadPattern::local);
}

TEST_CASE("permuted weights change an output by one of the six orders of three keys, each as often", "[inspect]") {
    // the key without a weight keeps none: its value is in no order's output
    const std::vector<float> weights = {0.5F, 0, 0.3F, 0.2F};
    const std::vector<double> values = {1, 0, 1000, 1000, 0, 1, 2, 3};  // v_0 … v_3
    const auto output = [](double a, double b, double c) { return std::pair{a + 2 * c, b + 3 * c}; };
    const auto [x, y] = output(0.5, 0.3, 0.2);
    std::vector<double> order = {0.2, 0.3, 0.5};
    std::vector<std::pair<double, double>> wanted;
    do {
        const auto [px, py] = output(order[0], order[1], order[2]);
        wanted.emplace_back(px - x, py - y);
    } while (std::next_permutation(order.begin(), order.end()));
    REQUIRE(wanted.size() == 6);
    std::vector<int> drawn(6);
    std::mt19937_64 random(5);
    constexpr int draws = 6000;
    for (int i = 0; i < draws; ++i) {
        const std::vector<float> change = internal::permuted_change(weights, values, 2, random);
        const auto found = std::ranges::find_if(wanted, [&](const auto& one) {
            return std::abs(one.first - static_cast<double>(change[0])) < 1e-6 &&
                   std::abs(one.second - static_cast<double>(change[1])) < 1e-6;
        });
        REQUIRE(found != wanted.end());
        ++drawn[static_cast<std::size_t>(found - wanted.begin())];
    }
    for (const int count : drawn) CHECK(std::abs(count - draws / 6) < 150);  // five standard deviations of 29
    // equal values: the order does not matter
    const std::vector<double> equal = {2, 7, 9, 9, 2, 7, 2, 7};
    for (const float one : internal::permuted_change(weights, equal, 2, random)) CHECK(std::abs(one) < 1e-6F);
}
