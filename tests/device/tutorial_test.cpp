// The worked numbers of a tutorial, computed on the device: "Understanding Transformers and Self-Attention". What it
// prints is compared to half a unit of the last printed digit. Where its own formulas give something else, the test
// has the right value, and docs/references.md lists both under "Slips".
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include "compare_values.h"
#include "runtime/base/at.h"
#include "sheet.h"
#include "vantage/ops.h"

using namespace vantage;
using namespace vantage::test;

namespace tutorial {

namespace {

const std::vector<double> printed_scores{15.2, 12.8, 8.3, 18.7, 22.1, 14.5, 9.4, 11.6, 16.8};

// Numbers [rows, used] in front of zeros: [rows, width].
Values padded(const std::vector<double>& numbers, std::size_t used, std::size_t width) {
    Values values(numbers.size() / used * width);
    for (std::size_t i = 0; i < numbers.size(); ++i)
        values[i / used * width + i % used] = static_cast<float>(numbers[i]);
    return values;
}

Values identity(std::size_t size) {
    Values values(size * size);
    for (std::size_t i = 0; i < size; ++i) values[i * size + i] = 1;
    return values;
}

// Rows of attention whose weights are these numbers, which sum to 1 by row: scores are their logarithms.
Values logarithms(std::vector<double> weights) {
    Values values;
    for (const double weight : weights) values.push_back(static_cast<float>(std::log(weight)));
    return values;
}

// The sinusoids of these positions as a model has them: added to embeddings, here to zeros. [positions, dim]
std::map<std::string, Values> encoded(const std::vector<std::int64_t>& positions, std::int64_t dim) {
    Sheet sheet;
    const std::int64_t last = *std::max_element(positions.begin(), positions.end());
    const Tensor table = sinusoidal_positions(sheet.graph, last + 1, dim),
                 nothing = sheet.input("embeddings", {1, dim}, Values(static_cast<std::size_t>(dim))),
                 ids = sheet.input("ids", {1}, std::vector<std::int32_t>{0});
    for (const std::int64_t p : positions)
        sheet.graph.output(std::to_string(p), embedding(ids, nothing, table, {.position_offset = p}));
    return sheet.run();
}

}  // namespace

// ---- sections 6 to 10: embeddings, scores, softmax, output ----------------------------------------------------------

TEST_CASE("tutorial: ids look up the rows of their words", "[tutorial]") {
    const std::vector<std::int32_t> ids{1523, 2891, 4562};  // money bank grows
    const Values words{0.82F, -0.34F, 0.56F, 0.91F, -0.23F, 0.56F, 0.89F, -0.67F, 0.67F, -0.89F, 0.12F, 0.34F};
    Values table = normal(std::int64_t{50000} * 4, 1);
    for (std::size_t word = 0; word < ids.size(); ++word)
        std::copy_n(words.begin() + static_cast<std::ptrdiff_t>(4 * word), 4, table.begin() + 4 * ids[word]);
    Sheet sheet;
    sheet.graph.output("X", embedding(sheet.input("ids", {3}, ids), sheet.input("E", {50000, 4}, table)));
    CHECK(sheet.run().at("X") == words);
}

// The text gives scores without the queries and keys behind them. With unit vectors as keys, queries that have the
// scores as features give them, at its d_k = 64.
TEST_CASE("tutorial: scores of three words, divided by √64, and their softmax", "[tutorial]") {
    Sheet sheet;
    const Tensor q = sheet.input("q", {3, 1, 64}, padded(printed_scores, 3, 64)),
                 k = sheet.input("k", {3, 1, 64}, padded({1, 0, 0, 0, 1, 0, 0, 0, 1}, 3, 64)),
                 v = sheet.input("v", {3, 1, 3}, identity(3));
    const Tensor queries = sheet.graph.reshape(q, {3, 64}), keys = sheet.graph.reshape(k, {3, 64});
    const AttentionResult result = attention(q, k, v);
    sheet.graph.output("scores", matmul(queries, keys, {.transpose_b = true}));
    const Tensor scaled = matmul(queries, keys, {.transpose_b = true, .alpha = 1 / std::sqrt(64.0)});
    sheet.graph.output("scaled", scaled);
    sheet.graph.output("W in steps", softmax(scaled));
    sheet.graph.output("W", attention_weights(q, k, result.lse, {.rows = 3, .keys = 3}));
    sheet.graph.output("W V", result.o);
    const auto got = sheet.run();
    check_printed("scores", got.at("scores"), printed_scores, 0.1);
    check_printed("scaled", got.at("scaled"), {1.90, 1.60, 1.04, 2.34, 2.76, 1.81, 1.18, 1.45, 2.10});
    const std::vector<double> weights{0.46, 0.34, 0.20, 0.32, 0.49, 0.19, 0.21, 0.27, 0.52};  // a slip: not (44)
    for (const char* name : {"W in steps", "W", "W V"}) {
        check_printed(name, got.at(name), weights);
        check_close(name, got.at(name), got.at("W in steps"), 1e-6);
    }
}

TEST_CASE("tutorial: a softmax in three steps", "[tutorial]") {
    Sheet sheet;
    const Tensor s = sheet.input("s", {1, 3}, Values{2.0F, 1.0F, 0.1F});
    sheet.graph.output("w", softmax(s));
    sheet.graph.output("log w", log_softmax(s));
    const auto got = sheet.run();
    check_printed("w", got.at("w"), {0.659, 0.242, 0.099}, 0.001);
    Values exponentials;  // e^s = w Σ with ln Σ = s - log w, as the device has it
    const float sum = std::exp(2.0F - got.at("log w")[0]);
    for (const float w : got.at("w")) exponentials.push_back(w * sum);
    check_printed("exponentials", exponentials, {7.389, 2.718, 1.105}, 0.001);
    check_printed("their sum", {sum}, {11.2125}, 0.0001);  // a slip: 11.212 is the sum of rounded terms
}

TEST_CASE("tutorial: an unscaled row saturates", "[tutorial]") {
    Sheet sheet;
    const Tensor s = sheet.input("s", {1, 4}, Values{-45, 52, -38, 61});
    sheet.graph.output("w", softmax(s));
    sheet.graph.output("scaled", softmax(s, -1, 1 / std::sqrt(64.0)));
    const auto got = sheet.run();
    check_printed("w", got.at("w"), {0.0, 0.0, 0.0, 1.0}, 0.1);  // a slip: the largest score is the last one
    check_printed("w, more digits", got.at("w"), {0, 0.0001, 0, 0.9999}, 0.0001);
    CHECK(got.at("w")[0] == 0);  // a slip: "never exactly 0" is not so in floats, and this is e^-106
    CHECK(got.at("scaled")[1] > 0.2F);
}

// Table 4. Queries are the rows of a Hadamard matrix, and their negatives, whose products are those of the rows with
// the sign changed: the variance is then the mean square, and exact.
TEST_CASE("tutorial: what dividing by 1, d_k, √d_k and d_k² does to the variance of scores", "[tutorial]") {
    constexpr std::int64_t d = 64;
    Values signs = normal(5 * d, 3);
    for (float& sign : signs) sign = std::copysign(1.0F, sign);
    Sheet sheet;
    const Tensor q = sheet.input("q", {d, d}, hadamard(d)), k = sheet.input("k", {5, d}, signs);
    for (const double divisor : {1, 64, 8, 4096})
        sheet.graph.output(std::to_string(static_cast<int>(divisor)),
                           matmul(q, k, {.transpose_b = true, .alpha = 1 / divisor}));
    const auto got = sheet.run();
    const auto variance = [&](const char* divisor) { return static_cast<float>(mean_square(got.at(divisor))); };
    check_printed("÷ 1", {variance("1")}, {64}, 1);
    check_printed("÷ d_k", {variance("64")}, {0.016}, 0.001);
    check_printed("÷ √d_k", {variance("8")}, {1}, 1);
    check_printed("÷ d_k²", {1e6F * variance("4096")}, {3.8}, 0.1);  // a slip: 1/d_k³, not 1/d_k² = .0002
}

TEST_CASE("tutorial: the printed weights, and what they make of the values", "[tutorial]") {
    // rows: money, bank and grows under one head (44); bank under one head (103), and under heads 1, 2, 3, 8 of eight
    const std::vector<double> weights{0.33, 0.35, 0.32, 0.28, 0.42, 0.30, 0.31, 0.33, 0.36, 0.35, 0.42, 0.23,
                                      0.8,  0.1,  0.1,  0.2,  0.5,  0.3,  0.1,  0.2,  0.7,  0.4,  0.4,  0.2};
    constexpr std::int64_t width = 64;
    const Values values = normal(3 * width, 2);
    Sheet sheet;
    const Tensor q = sheet.input("q", {8, 1, 3}, logarithms(weights)), k = sheet.input("k", {3, 1, 3}, identity(3));
    const AttentionOptions unscaled{.scale = 1};
    const AttentionResult result = attention(q, k, sheet.input("v", {3, 1, width}, values), unscaled);
    sheet.graph.output("W", attention_weights(q, k, result.lse, {.rows = 8, .keys = 3}, unscaled));
    sheet.graph.output("Y", result.o);
    const auto got = sheet.run();
    check_printed("W", got.at("W"), weights);
    Values sums;  // y = w₁ v_money + w₂ v_bank + w₃ v_grows
    for (std::int64_t row = 0; row < 8; ++row)
        for (std::int64_t i = 0; i < width; ++i) {
            double sum = 0;
            for (std::int64_t j = 0; j < 3; ++j)
                sum += weights[static_cast<std::size_t>(3 * row + j)] * at(values, j * width + i);
            sums.push_back(static_cast<float>(sum));
        }
    check_close("Y", got.at("Y"), sums, 2e-6);  // exp and log of the weights, each to a few units of f32
}

// ---- section 15: positions ------------------------------------------------------------------------------------------

TEST_CASE("tutorial: position 5 in 512 dimensions", "[tutorial]") {
    const Values pe = encoded({5}, 512).at("5");
    const auto feature = [&](std::size_t i) { return Values{pe[i]}; };
    check_printed("0 to 3", {pe.begin(), pe.begin() + 4}, {-0.9589, 0.2837, -0.9939, 0.1107}, 0.0001);  // slips: 2, 3
    check_printed("128", feature(128), {0.4794}, 0.0001);
    check_printed("510, in thousandths", {1000 * pe[510]}, {0.518}, 0.001);  // a slip: .000502
    check_printed("511", feature(511), {1.0000}, 0.0001);                    // a slip: .9999
}

TEST_CASE("tutorial: wavelengths of pairs of dimensions", "[tutorial]") {
    const std::vector<double> frequencies = rope_frequencies(512, 10000);  // those of the sinusoids (Su et al. 2021)
    const auto wavelength = [&](std::size_t dimension) {
        return Values{static_cast<float>(2 * std::numbers::pi / frequencies[dimension / 2])};
    };
    check_printed("0, 1", wavelength(0), {6.3}, 0.1);
    check_printed("2, 3", wavelength(2), {6.5}, 0.1);          // slips from here on: 13.5
    check_printed("50, 51", wavelength(50), {15.4}, 0.1);      // 2π × 1738
    check_printed("254, 255", wavelength(254), {606.1}, 0.1);  // 2π × 10000
    check_printed("500, 501", wavelength(500), {50633}, 1);    // "repeats 627"
    check_printed("510, 511", wavelength(510), {60611}, 1);    // the longest
}

TEST_CASE("tutorial: positions 0 to 9, each dimension at a rate of its own", "[tutorial]") {
    std::vector<std::int64_t> positions(10);
    for (std::size_t p = 0; p < 10; ++p) positions[p] = static_cast<std::int64_t>(p);
    const auto rows = encoded(positions, 512);
    const auto dimension = [&](std::size_t i) {
        Values values;
        for (const std::int64_t p : positions) values.push_back(rows.at(std::to_string(p))[i]);
        return values;
    };
    check_printed("0", dimension(0), {0, 0.84, 0.91, 0.14, -0.76, -0.96, -0.28, 0.66, 0.99, 0.41});
    // slips: the text's dimension 1 comes back after 6 positions, and its dimensions 2, 3, 500 and 501 are others
    check_printed("1", dimension(1), {1, 0.54, -0.42, -0.99, -0.65, 0.28, 0.96, 0.75, -0.15, -0.91});
    check_printed("2", dimension(2), {0, 0.82, 0.94, 0.25, -0.66, -0.99, -0.48, 0.45, 0.99, 0.68});
    check_printed("3", dimension(3), {1, 0.57, -0.35, -0.97, -0.75, 0.11, 0.88, 0.89, 0.14, -0.74});
    check_printed("500", dimension(500), {0, 0.0001, 0.0002, 0.0004, 0.0005, 0.0006, 0.0007, 0.0009, 0.0010, 0.0011},
                  0.0001);
    check_printed("501", dimension(501), std::vector<double>(10, 1.0), 0.0001);
}

// |PE(p)|² is 256 for all p, so that the distance of two positions is √(2 (256 - PE(p)·PE(q))).
TEST_CASE("tutorial: each of 100 positions is unlike all others", "[tutorial]") {
    constexpr std::size_t n = 100;
    Sheet sheet;
    const Tensor pe = sinusoidal_positions(sheet.graph, n, 512);
    sheet.graph.output("products", matmul(pe, pe, {.transpose_b = true}));
    const Values products = sheet.run().at("products");
    float nearest = 256;
    for (std::size_t p = 0; p < n; ++p)
        for (std::size_t q = 0; q < p; ++q) nearest = std::min(nearest, 256 - products[p * n + q]);
    check_printed("half the square of the smallest distance", {nearest}, {6.9}, 0.1);  // neighbours': Σ (1 - cos ω)
    for (std::size_t p = 0; p < n; ++p) CHECK(std::abs(products[p * n + p] - 256) < 1e-3F);
}

TEST_CASE("tutorial: sinusoids stay bounded, however far the position", "[tutorial]") {
    const auto rows = encoded({1, 1000, 1'000'000}, 2);
    check_printed("1", {rows.at("1")[0]}, {0.84});
    check_printed("1000", {rows.at("1000")[0]}, {0.83});         // a slip: -.51
    check_printed("1000000", {rows.at("1000000")[0]}, {-0.35});  // a slip: -.68
}

// ---- section 17: norms ----------------------------------------------------------------------------------------------

namespace {

// Batch statistics of x [rows, channels] themselves: the running ones, moved all the way.
BatchNormResult trained(Sheet& sheet, Tensor x, Tensor gamma, Tensor beta, const std::string& prefix = {}) {
    const std::int64_t channels = x.shape()[1];
    const auto count = static_cast<std::size_t>(channels);
    return batch_norm(x, gamma, beta, sheet.input(prefix + "running mean", {channels}, Values(count, 0)),
                      sheet.input(prefix + "running variance", {channels}, Values(count, 1)),
                      {.training = true, .momentum = 1});
}

// A running variance is divided by rows - 1, the text's by rows.
Values biased(Values variance, float rows) {
    for (float& value : variance) value *= (rows - 1) / rows;
    return variance;
}

}  // namespace

TEST_CASE("tutorial: batch norm of one neuron", "[tutorial]") {
    Sheet sheet;
    const Tensor x = sheet.input("x", {4, 1}, Values{7, 2, 5, 4});
    const BatchNormResult plain = trained(sheet, x, {}, {});
    sheet.graph.output("mean", plain.mean);
    sheet.graph.output("variance", plain.variance);
    sheet.graph.output("normalised", plain.y);
    sheet.graph.output("y", trained(sheet, x, sheet.input("gamma", {1}, Values{0.5F}),
                                    sheet.input("beta", {1}, Values{0.1F}), "scaled ")
                                .y);
    const auto got = sheet.run();
    check_printed("mean", got.at("mean"), {4.5}, 0.1);
    check_printed("variance", biased(got.at("variance"), 4), {3.25});
    check_printed("normalised", got.at("normalised"), {1.39, -1.39, 0.28, -0.28});
    check_printed("y", got.at("y"), {0.793, -0.593, 0.239, -0.039}, 0.001);  // slips: .795 and -.595, by way of 1.39
}

TEST_CASE("tutorial: batch norm of three neurons over five samples", "[tutorial]") {
    Sheet sheet;
    const Tensor z = sheet.input("z", {5, 3}, Values{7, 5, 4, 2, 3, 4, 1, 2, 3, 7, 5, 6, 3, 3, 4});
    const BatchNormResult result = trained(sheet, z, {}, {});
    sheet.graph.output("mean", result.mean);
    sheet.graph.output("variance", result.variance);
    sheet.graph.output("normalised", result.y);
    sheet.graph.output("active", relu(result.y));
    const auto got = sheet.run();
    check_printed("means", got.at("mean"), {4, 3.6, 4.2}, 0.1);
    check_printed("variances", biased(got.at("variance"), 5), {6.40, 1.44, 0.96});  // a slip: 1.04 for neuron 2
    // slips: all of neuron 2; ±1.18 and -.39 of neuron 1 and 1.83 of neuron 3 are cut off, not rounded
    check_printed("normalised", got.at("normalised"),
                  {1.19, 1.17, -0.20, -0.79, -0.50, -0.20, -1.19, -1.33, -1.22, 1.19, 1.17, 1.84, -0.40, -0.50, -0.20});
    check_printed("active", got.at("active"), {1.19, 1.17, 0, 0, 0, 0, 0, 0, 0, 1.19, 1.17, 1.84, 0, 0, 0});
}

TEST_CASE("tutorial: layer norm of two words", "[tutorial]") {
    Sheet sheet;
    const Tensor words = sheet.input("words", {2, 4}, Values{0.2F, 0.4F, 0.6F, 0.8F, 0.1F, 0.3F, 0.5F, 0.7F});
    sheet.graph.output(
        "y", layer_norm(words, sheet.input("gamma", {4}, Values(4, 1)), sheet.input("beta", {4}, Values(4, 0))));
    check_printed("y", sheet.run().at("y"), {-1.34, -0.45, 0.45, 1.34, -1.34, -0.45, 0.45, 1.34});
}

}  // namespace tutorial
