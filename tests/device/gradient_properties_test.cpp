// Properties of backward passes on the device: heads are independent of one another, gradients of logits sum to 0, keys
// that no query sees learn nothing, and dropout keeps and scales what it says.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "compare_values.h"
#include "runtime/base/at.h"
#include "runtime/ops/dropout.h"
#include "shaders/params/train.h"
#include "sheet.h"
#include "vantage/gradient.h"
#include "vantage/ops.h"

using namespace vantage;
using namespace vantage::test;
using internal::at;

namespace gradient_properties {

namespace {

/// Σ factors ∘ x, one element: factors are the gradient by x.
Tensor weighted_sum(Sheet& sheet, Tensor x, const Values& factors) {
    const std::int64_t count = x.shape().elements();
    const Tensor column = sheet.input("factors", {count, 1}, factors);
    return sheet.graph.reshape(matmul(sheet.graph.reshape(x, {1, count}), column), {1});
}

/// Adds the gradients of Σ factors ∘ x by tensors as outputs of these names.
void differentiate(Sheet& sheet, Tensor x, const Values& factors, const std::vector<Tensor>& of,
                   const std::vector<std::string>& names) {
    const std::vector<Tensor> made = gradients(weighted_sum(sheet, x, factors), of);
    for (std::size_t i = 0; i < of.size(); ++i) sheet.graph.output(names[i], made[i]);
}

// ---- attention ------------------------------------------------------------------------------------------------------

constexpr std::int64_t rows = 40, width = 24;

/// x [rows, heads, width] with its heads in another order.
Values reordered(const Values& x, std::span<const std::int64_t> order) {
    const std::int64_t heads = std::ssize(order);
    Values result(x.size());
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t head = 0; head < heads; ++head)
            std::copy_n(x.begin() + (row * heads + order[static_cast<std::size_t>(head)]) * width, width,
                        result.begin() + (row * heads + head) * width);
    return result;
}

struct HeadValues {
    Values q, k, v, dout;
};

std::map<std::string, Values> attention_gradients(const HeadValues& x, std::int64_t heads, std::int64_t kv_heads,
                                                  const Values& mask = {}) {
    Sheet sheet;
    const std::vector<Tensor> of{sheet.input("q", {rows, heads, width}, x.q),
                                 sheet.input("k", {rows, kv_heads, width}, x.k),
                                 sheet.input("v", {rows, kv_heads, width}, x.v)};
    AttentionOptions options{.causal = true};
    if (!mask.empty()) options.mask = sheet.input("mask", {rows, rows}, mask);
    differentiate(sheet, attention(of[0], of[1], of[2], options).o, x.dout, of, {"dq", "dk", "dv"});
    return sheet.run();
}

HeadValues head_values(std::int64_t heads, std::int64_t kv_heads) {
    return {normal(rows * heads * width, 1), normal(rows * kv_heads * width, 2), normal(rows * kv_heads * width, 3),
            normal(rows * heads * width, 4)};
}

}  // namespace

TEST_CASE("gradients of attention are in the order of the heads", "[gradient]") {
    const auto check = [](std::span<const std::int64_t> order, std::span<const std::int64_t> kv_order) {
        const std::int64_t heads = std::ssize(order), kv_heads = std::ssize(kv_order);
        const HeadValues x = head_values(heads, kv_heads);
        const auto here = attention_gradients(x, heads, kv_heads);
        const auto there = attention_gradients(
            {reordered(x.q, order), reordered(x.k, kv_order), reordered(x.v, kv_order), reordered(x.dout, order)},
            heads, kv_heads);
        check_close("dq", there.at("dq"), reordered(here.at("dq"), order), 1e-6, 1e-6);
        check_close("dk", there.at("dk"), reordered(here.at("dk"), kv_order), 1e-6, 1e-6);
        check_close("dv", there.at("dv"), reordered(here.at("dv"), kv_order), 1e-6, 1e-6);
    };
    check(std::array<std::int64_t, 4>{2, 0, 3, 1}, std::array<std::int64_t, 4>{2, 0, 3, 1});
    check(std::array<std::int64_t, 4>{3, 2, 0, 1}, std::array<std::int64_t, 2>{1, 0});  // groups of two queries
}

TEST_CASE("a key that no query sees has a gradient of exactly 0", "[gradient]") {
    constexpr std::int64_t heads = 2, hidden = 5;
    Values mask(rows * rows);
    for (std::int64_t row = 0; row < rows; ++row)
        at(mask, row * rows + hidden) = -std::numeric_limits<float>::infinity();
    const auto got = attention_gradients(head_values(heads, heads), heads, heads, mask);
    for (const char* name : {"dk", "dv"})
        for (std::int64_t key = 0; key < rows; ++key) {
            const std::span<const float> of_key =
                std::span(got.at(name)).subspan(static_cast<std::size_t>(key * heads * width), heads * width);
            INFO(name << " of key " << key);
            CHECK(std::ranges::all_of(of_key, [](float x) { return x == 0; }) == (key == hidden));
        }
}

// ---- cross-entropy --------------------------------------------------------------------------------------------------

// Σ_c (p_c - (1 - s) [c = y] - s / classes) = 0.
TEST_CASE("each row of the gradient of cross-entropy by logits sums to 0", "[gradient]") {
    constexpr std::int64_t n = 37, classes = 500;
    std::vector<std::int32_t> targets(n);
    for (std::int64_t row = 0; row < n; ++row)
        at(targets, row) = static_cast<std::int32_t>(row % 7 == 6 ? -1 : row * 13);
    const Values factors = normal(n, 2);
    for (const double smoothing : {0.0, 0.1, 0.9}) {
        INFO("label smoothing " << smoothing);
        Sheet sheet;
        const Tensor logits = sheet.input("logits", {n, classes}, normal(n * classes, 1, 3)),
                     wanted = sheet.input("targets", {n}, targets);
        differentiate(sheet, cross_entropy(logits, wanted, {.label_smoothing = smoothing}).loss, factors, {logits},
                      {"dlogits"});
        const Values got = sheet.run().at("dlogits");
        for (std::int64_t row = 0; row < n; ++row) {
            double sum = 0, size = 0;
            for (std::int64_t c = 0; c < classes; ++c)
                sum += at(got, row * classes + c), size += std::abs(at(got, row * classes + c));
            INFO("row " << row << ": sum " << sum << " of " << size);
            CHECK(std::abs(sum) <= 1e-5 * std::abs(at(factors, row)));  // p = exp(z - lse): lse has errors of 1e-6
            CHECK((size > 0) == (at(targets, row) >= 0));
        }
    }
}

// ---- dropout --------------------------------------------------------------------------------------------------------

namespace {

/// What kernels draw by in the first step of training.
Tensor drawn(Sheet& sheet, double probability) {
    const Tensor train = sheet.input("train", {TRAIN_WORDS}, Values(TRAIN_WORDS));
    return internal::dropout_draw(train, {.probability = probability, .seed = 11, .site = 3}, SourceLocation::here());
}

/// Of independent draws: within 4 standard deviations, which one in 16000 tests is not.
void check_kept(std::int64_t kept, std::int64_t of, double probability) {
    const double mean = static_cast<double>(of) * (1 - probability), deviation = std::sqrt(mean * probability);
    INFO(kept << " of " << of << " kept, wanted " << mean << " ± " << deviation);
    CHECK(std::abs(static_cast<double>(kept) - mean) <= 4 * deviation);
}

}  // namespace

TEST_CASE("dropout keeps 1 - p of the elements, times 1 / (1 - p), and so does its gradient", "[gradient]") {
    constexpr std::int64_t n = 400, columns = 500;
    const Values factors = normal(n * columns, 1);
    for (const double probability : {0.1, 0.5, 0.9}) {
        Sheet sheet;
        const Tensor x = sheet.input("x", {n, columns}, Values(n * columns, 1));
        const Tensor y = internal::dropout(x, drawn(sheet, probability), SourceLocation::here());
        sheet.graph.output("y", y);
        differentiate(sheet, y, factors, {x}, {"dx"});
        const auto got = sheet.run();
        const Values& kept = got.at("y");
        check_kept(std::ranges::count_if(kept, [](float one) { return one != 0; }), n * columns, probability);
        Values scaled, slopes;
        for (std::size_t i = 0; i < kept.size(); ++i) {
            scaled.push_back(kept[i] == 0 ? 0 : static_cast<float>(1 / (1 - probability)));
            slopes.push_back(scaled.back() * factors[i]);
        }
        check_close("y", kept, scaled, 0, 1e-6);
        check_close("dx", got.at("dx"), slopes, 0, 1e-6);
    }
}

// All scores are 0 and values are unit vectors: o has the weights, each 1 / keys before dropout.
TEST_CASE("attention's dropout keeps 1 - p of the weights, and its gradient drops the same ones", "[gradient]") {
    constexpr std::int64_t n = 512, heads = 4, keys = 64;
    constexpr double probability = 0.3;
    const Values factors = normal(n * heads * keys, 1);
    Values units(keys * heads * keys);
    for (std::int64_t key = 0; key < keys; ++key)
        for (std::int64_t head = 0; head < heads; ++head) at(units, (key * heads + head) * keys + key) = 1;
    Sheet sheet;
    const Tensor q = sheet.input("q", {n, heads, width}, Values(n * heads * width)),
                 k = sheet.input("k", {keys, heads, width}, normal(keys * heads * width, 2)),
                 v = sheet.input("v", {keys, heads, keys}, units);
    const Tensor o = attention(q, k, v, {.dropout = drawn(sheet, probability)}).o;
    sheet.graph.output("weights", o);
    differentiate(sheet, o, factors, {v}, {"dv"});
    const auto got = sheet.run();
    const Values& weights = got.at("weights");
    check_kept(std::ranges::count_if(weights, [](float one) { return one != 0; }), n * heads * keys, probability);
    Values scaled, dv(units.size());
    for (const float weight : weights)
        scaled.push_back(weight == 0 ? 0 : static_cast<float>(1 / (static_cast<double>(keys) * (1 - probability))));
    check_close("weights", weights, scaled, 0, 1e-5);
    for (std::int64_t row = 0; row < n * heads; ++row)
        for (std::int64_t key = 0; key < keys; ++key)
            for (std::int64_t e = 0; e < keys; ++e)
                at(dv, (key * heads + row % heads) * keys + e) +=
                    at(weights, row * keys + key) * at(factors, row * keys + e);
    check_close("dv", got.at("dv"), dv, 1e-5, 1e-5);
}

}  // namespace gradient_properties
