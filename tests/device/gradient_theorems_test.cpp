// What the literature proves of gradients, as identities and bounds that the device's gradients have to meet: residual
// paths, pre- against post-norm, saturated softmax, and the contrastive loss against differences in double.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "compare_values.h"
#include "runtime/base/at.h"
#include "sheet.h"
#include "vantage/error.h"
#include "vantage/gradient.h"
#include "vantage/ops.h"

using namespace vantage;
using namespace vantage::test;

namespace gradient_theorems {

namespace {

using Doubles = std::vector<double>;

double length(const Values& x) {
    double squares = 0;
    for (const float value : x) squares += static_cast<double>(value) * value;
    return std::sqrt(squares);
}

// Σ factors ∘ x, one element.
Tensor weighted_sum(Sheet& sheet, Tensor x, const Values& factors) {
    const std::int64_t count = x.shape().elements();
    const Tensor column = sheet.input("factors", {count, 1}, factors);
    return sheet.graph.reshape(matmul(sheet.graph.reshape(x, {1, count}), column), {1});
}

// ---- residual connections -------------------------------------------------------------------------------------------

constexpr std::int64_t width = 8;

struct Stack {
    std::vector<Values> weights;  // [width, width] of each layer
    Values x = normal(width, 1), factors = normal(width, 2);

    Stack(int layers, float deviation) {
        for (int layer = 0; layer < layers; ++layer)
            weights.push_back(normal(width * width, 10 + static_cast<unsigned>(layer), deviation));
    }
    // ∂(factors · h_L) / ∂x of h_l = (h_{l-1}) + tanh(h_{l-1} W_l) on the device.
    Values gradient(bool residual) const {
        Sheet sheet;
        Tensor h = sheet.input("x", {1, width}, x), first = h;
        for (std::size_t layer = 0; layer < weights.size(); ++layer) {
            const Tensor w = sheet.input("w" + std::to_string(layer), {width, width}, weights[layer]);
            const Tensor f = activate(linear(h, w), Activation::tanh);
            h = residual ? h + f : f;
        }
        const std::vector<Tensor> of{first};
        sheet.graph.output("dx", gradients(weighted_sum(sheet, h, factors), of)[0]);
        return sheet.run().at("dx");
    }
    // factorsᵀ Π_l (I + J_l), or without I, in double: J_l = W_lᵀ diag(1 - tanh²).
    Values product(bool residual) const {
        std::vector<Doubles> slopes;
        Doubles h(x.begin(), x.end());
        for (const Values& w : weights) {
            Doubles next(width), slope(width);
            for (std::size_t j = 0; j < width; ++j) {
                double sum = 0;
                for (std::size_t i = 0; i < width; ++i) sum += h[i] * w[i * width + j];
                const double f = std::tanh(sum);
                slope[j] = 1 - f * f, next[j] = (residual ? h[j] : 0) + f;
            }
            slopes.push_back(slope), h = next;
        }
        Doubles row(factors.begin(), factors.end());
        for (std::size_t layer = weights.size(); layer-- > 0;) {
            Doubles before(width);
            for (std::size_t i = 0; i < width; ++i) {
                before[i] = residual ? row[i] : 0;
                for (std::size_t j = 0; j < width; ++j)
                    before[i] += weights[layer][i * width + j] * slopes[layer][j] * row[j];
            }
            row = before;
        }
        return {row.begin(), row.end()};
    }
};

}  // namespace

TEST_CASE("the gradient through residual layers is the product of I + J, and through plain ones of J",
          "[theorems][gradient]") {
    for (const bool residual : {false, true}) {
        const Stack stack(6, 0.4F);
        INFO((residual ? "residual" : "plain"));
        // 1 - tanh² is off by up to 2 ulp of 1, 2.4e-7; times 8 weights of 0.4, in six layers: 5e-6
        check_close("product", stack.gradient(residual), stack.product(residual), 5e-6, 1e-5);
    }
}

TEST_CASE("layers that do nothing pass the gradient through their residual path as it is", "[theorems][gradient]") {
    const Stack stack(12, 0);
    CHECK(stack.gradient(true) == stack.factors);
    CHECK(length(stack.gradient(false)) == 0);
}

// |J| < 1 / 2: without residuals at most 2^-L, with them at least 2^-L of what comes, and near all of it on average.
TEST_CASE("gradients vanish with depth without residual connections, and do not with them", "[theorems][gradient]") {
    const Stack stack(24, 0.08F);  // singular values of 8 × 8 normal numbers: at most about 2 √8 · 0.08 = 0.45
    const double there = length(stack.factors);
    const double plain = length(stack.gradient(false)) / there, residual = length(stack.gradient(true)) / there;
    INFO("plain " << plain << ", residual " << residual);
    CHECK(plain < std::pow(0.5, 24));
    CHECK(residual > 0.5);
}

// ---- pre-norm and post-norm -----------------------------------------------------------------------------------------

namespace {

// The norm of the gradient by the second matrix of the last feed-forward layer of a stack at the start of training
// (Xavier's weights).
double last_norm(int layers, bool pre_norm) {
    constexpr std::int64_t rows = 32, d = 32, hidden = 64;
    Sheet sheet;
    Tensor h = sheet.input("x", {rows, d}, normal(rows * d, 1));
    const auto xavier = static_cast<float>(std::sqrt(2.0 / (d + hidden)));
    Tensor out;
    for (int layer = 0; layer < layers; ++layer) {
        const std::string name = std::to_string(layer);
        const auto seed = static_cast<unsigned>(100 + 2 * layer);
        const Tensor in = sheet.input("in" + name, {d, hidden}, normal(d * hidden, seed, xavier));
        out = sheet.input("out" + name, {hidden, d}, normal(hidden * d, seed + 1, xavier));
        const auto f = [&](Tensor x) { return linear(activate(linear(x, in), Activation::relu), out); };
        h = pre_norm ? h + f(layer_norm(h)) : layer_norm(h + f(h));
    }
    if (pre_norm) h = layer_norm(h);
    const std::vector<Tensor> of{out};
    sheet.graph.output("dout", gradients(weighted_sum(sheet, h, normal(rows * d, 2)), of)[0]);
    return length(sheet.run().at("dout"));
}

}  // namespace

// Xiong et al., "On Layer Normalization in the Transformer Architecture" (2020), theorem 1: at the start, the gradient
// of the last layer is O(1) by depth with post-norm, and O(1 / √L) with pre-norm.
TEST_CASE("at the start gradients of the last layer shrink with depth in pre-norm alone", "[theorems][gradient]") {
    const double pre4 = last_norm(4, true), pre36 = last_norm(36, true), post4 = last_norm(4, false),
                 post36 = last_norm(36, false);
    INFO("pre-norm " << pre4 << " and " << pre36 << ", post-norm " << post4 << " and " << post36);
    CHECK(std::abs(pre4 / pre36 / std::sqrt(36.0 / 4.0) - 1) < 0.35);
    CHECK(std::abs(post4 / post36 - 1) < 0.35);
    CHECK(post36 > 2 * pre36);
}

// ---- softmax --------------------------------------------------------------------------------------------------------

// Scores of d features have the variance d. Without 1 / √d the largest has nearly all of the weight, and its gradient
// p (c - Σ p c) is nearly 0 (Vaswani et al. 2017, 3.2.1).
TEST_CASE("without 1 / √d the gradient of attention's scores vanishes", "[theorems][gradient]") {
    constexpr std::int64_t n = 32, d = 256;
    const Values factors = normal(n * n, 3);
    const auto row_lengths = [&](double factor) {
        Sheet sheet;
        const Tensor q = sheet.input("q", {n, d}, normal(n * d, 1)), k = sheet.input("k", {n, d}, normal(n * d, 2));
        const Tensor scores = matmul(q, k, {.transpose_b = true, .alpha = factor}), p = softmax(scores);
        const std::vector<Tensor> of{scores};
        sheet.graph.output("ds", gradients(weighted_sum(sheet, p, factors), of)[0]);
        sheet.graph.output("p", p);
        const auto got = sheet.run();
        Doubles lengths;
        Values want;
        for (std::size_t row = 0; row < n; ++row) {
            const std::size_t begin = row * n;
            double mean = 0, squares = 0;
            for (std::size_t j = 0; j < n; ++j)
                mean += static_cast<double>(got.at("p")[begin + j]) * factors[begin + j];
            for (std::size_t j = 0; j < n; ++j) {
                const double ds = got.at("p")[begin + j] * (factors[begin + j] - mean);
                want.push_back(static_cast<float>(ds)), squares += ds * ds;
            }
            lengths.push_back(std::sqrt(squares));
        }
        check_close("p (c - Σ p c)", got.at("ds"), want, 1e-6, 1e-5);
        std::ranges::sort(lengths);
        return lengths;
    };
    const Doubles scaled = row_lengths(1 / std::sqrt(static_cast<double>(d))), unscaled = row_lengths(1);
    INFO("medians " << scaled[n / 2] << " and " << unscaled[n / 2]);
    CHECK(scaled[n / 4] > 0.1);
    CHECK(unscaled[n / 2] < 0.1 * scaled[n / 2]);
}

// ---- the contrastive loss -------------------------------------------------------------------------------------------

namespace {

double contrastive(const Doubles& a, const Doubles& b, double scale, std::size_t n, std::size_t d) {
    const auto cosine = [&](std::size_t i, std::size_t j) {
        double ab = 0, aa = 0, bb = 0;
        for (std::size_t k = 0; k < d; ++k)
            ab += a[i * d + k] * b[j * d + k], aa += a[i * d + k] * a[i * d + k], bb += b[j * d + k] * b[j * d + k];
        return ab / std::sqrt(aa * bb);
    };
    double loss = 0;
    for (std::size_t i = 0; i < n; ++i) {
        double row = 0, column = 0;
        for (std::size_t j = 0; j < n; ++j)
            row += std::exp(scale * cosine(i, j)), column += std::exp(scale * cosine(j, i));
        loss += (std::log(row) + std::log(column)) / 2 - scale * cosine(i, i);
    }
    return loss / static_cast<double>(n);
}

}  // namespace

TEST_CASE("the contrastive loss and its gradients are those of differences in double", "[gradient]") {
    constexpr std::int64_t n = 5, d = 6;
    const Values a = normal(n * d, 1), b = normal(n * d, 2);
    Doubles all(a.begin(), a.end());
    all.insert(all.end(), b.begin(), b.end());
    all.push_back(3);
    const auto value = [&](const Doubles& at) {
        return contrastive({at.begin(), at.begin() + n * d}, {at.begin() + n * d, at.end() - 1}, at.back(), n, d);
    };
    Values want;
    for (std::size_t i = 0; i < all.size(); ++i) {
        Doubles up = all, down = all;
        up[i] += 1e-5, down[i] -= 1e-5;
        want.push_back(static_cast<float>((value(up) - value(down)) / 2e-5));
    }
    Sheet sheet;
    const std::vector<Tensor> of{sheet.input("a", {n, d}, a), sheet.input("b", {n, d}, b),
                                 sheet.input("scale", {1}, Values{3})};
    const Tensor loss = contrastive_loss(of[0], of[1], {.scale = of[2]});
    const std::vector<Tensor> made = gradients(loss, of);
    sheet.graph.output("loss", loss);
    sheet.graph.output("constant", contrastive_loss(of[0], of[1], {.temperature = 1.0 / 3}));
    for (std::size_t i = 0; i < of.size(); ++i) sheet.graph.output(std::to_string(i), made[i]);
    const auto got = sheet.run();
    CHECK(std::abs(got.at("loss")[0] - value(all)) < 1e-5);
    CHECK(std::abs(got.at("constant")[0] - value(all)) < 1e-5);
    Values found = got.at("0");
    for (const char* name : {"1", "2"}) found.insert(found.end(), got.at(name).begin(), got.at(name).end());
    check_close("gradients", found, want, 2e-5);
}

TEST_CASE("a contrastive loss of what are no pairs is refused", "[gradient][bad]") {
    Graph graph;
    const Tensor a = graph.input("a", {3, 4}), b = graph.input("b", {2, 4});
    CHECK_THROWS_AS(contrastive_loss(a, b), Error);
    CHECK_THROWS_AS(contrastive_loss(a, a, {.temperature = 0}), Error);
    CHECK_THROWS_AS(contrastive_loss(a, a, {.scale = graph.input("scale", {3})}), Error);
}

}  // namespace gradient_theorems
