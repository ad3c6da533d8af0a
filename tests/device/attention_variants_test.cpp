// Variants of attention against their definitions, written out here in double: without the denominator, with projected
// keys, with heads of full width.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <numeric>
#include <string>

#include "runtime/base/at.h"
#include "runtime/graph/graph_data.h"
#include "runtime/graph/op_def.h"
#include "runtime/ops/attention.h"
#include "sheet.h"

using namespace vantage;
using namespace vantage::test;

namespace attention_variants {

namespace {

using I = std::int64_t;

double element(const Values& x, I i) { return static_cast<double>(internal::at(x, i)); }

void check_close(const Values& got, const std::vector<double>& want, double allowed) {
    REQUIRE(got.size() == want.size());
    double worst = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        const double error = std::abs(static_cast<double>(got[i]) - want[i]);
        worst = error <= worst ? worst : error;  // a NaN stays
    }
    CHECK(worst <= allowed);
}

/// a [rows, inner] b [inner, cols]
std::vector<double> product(const std::vector<double>& a, const std::vector<double>& b, I rows, I inner, I cols) {
    std::vector<double> c(static_cast<std::size_t>(rows * cols));
    for (I i = 0; i < rows; ++i)
        for (I j = 0; j < cols; ++j)
            for (I k = 0; k < inner; ++k)
                internal::at(c, i * cols + j) += internal::at(a, i * inner + k) * internal::at(b, k * cols + j);
    return c;
}

/// softmax(q kᵀ / √width) v of one head: q [n, width], k [m, width], v [m, dv].
std::vector<double> attended(const std::vector<double>& q, const std::vector<double>& k, const std::vector<double>& v,
                             I width, I dv) {
    const I n = std::ssize(q) / width, m = std::ssize(k) / width;
    std::vector<double> o(static_cast<std::size_t>(n * dv));
    for (I i = 0; i < n; ++i) {
        double sum = 0;
        for (I j = 0; j < m; ++j) {
            double dot = 0;
            for (I d = 0; d < width; ++d) dot += internal::at(q, i * width + d) * internal::at(k, j * width + d);
            const double weight = std::exp(dot / std::sqrt(static_cast<double>(width)));
            sum += weight;
            for (I e = 0; e < dv; ++e) internal::at(o, i * dv + e) += weight * internal::at(v, j * dv + e);
        }
        for (I e = 0; e < dv; ++e) internal::at(o, i * dv + e) /= sum;
    }
    return o;
}

/// Head h of x [n, heads, width].
std::vector<double> head_of(const Values& x, I heads, I h, I width) {
    std::vector<double> part;
    for (I i = 0; i < std::ssize(x) / (heads * width); ++i)
        for (I d = 0; d < width; ++d) part.push_back(element(x, (i * heads + h) * width + d));
    return part;
}

/// x [n, heads, width] as [heads, n, width].
Values heads_in_front(const Values& x, I heads, I width) {
    Values y;
    for (I h = 0; h < heads; ++h)
        for (double value : head_of(x, heads, h, width)) y.push_back(static_cast<float>(value));
    return y;
}

}  // namespace

// ---- without the denominator ----------------------------------------------------------------------------------------

TEST_CASE("linear attention without its denominator is q (kᵀ v), whatever the signs", "[attention]") {
    constexpr I n = 150, heads = 2, d = 6, dv = 5;
    const bool causal = GENERATE(false, true);
    Sheet sheet;
    const Tensor q = sheet.input("q", {n, heads, d}, normal(n * heads * d, 1)),
                 k = sheet.input("k", {n, heads, d}, normal(n * heads * d, 2)),
                 v = sheet.input("v", {n, heads, dv}, normal(n * heads * dv, 3));
    const LinearAttentionOptions options{.causal = causal, .elu = false, .normalise = false};
    const LinearAttentionResult result = linear_attention(q, k, v, options);
    sheet.graph.output("o", result.o);
    sheet.graph.output("lse", result.lse);
    sheet.graph.output("p", linear_attention_weights(q, k, result.lse, {.head = 1, .rows = n, .keys = n}, options));
    const auto got = sheet.run();
    std::vector<double> o(n * heads * dv), p(n * n);
    for (I h = 0; h < heads; ++h)
        for (I i = 0; i < n; ++i)
            for (I j = 0; j < (causal ? i + 1 : n); ++j) {
                double weight = 0;
                for (I c = 0; c < d; ++c)
                    weight += element(sheet.floats["q"], (i * heads + h) * d + c) *
                              element(sheet.floats["k"], (j * heads + h) * d + c);
                if (h == 1) internal::at(p, i * n + j) = weight;
                for (I e = 0; e < dv; ++e)
                    internal::at(o, (i * heads + h) * dv + e) +=
                        weight * element(sheet.floats["v"], (j * heads + h) * dv + e);
            }
    check_close(got.at("o"), o, 2e-4);  // sums of 150 products of size 6, in another order
    check_close(got.at("p"), p, 2e-5);
    CHECK(got.at("lse") == Values(n * heads, 0));
}

TEST_CASE("linear attention is what it is without its denominator, divided by it", "[attention]") {
    constexpr I n = 100, d = 8, dv = 4;
    Sheet sheet;
    const Tensor q = sheet.input("q", {n, 1, d}, normal(n * d, 1)), k = sheet.input("k", {n, 1, d}, normal(n * d, 2)),
                 v = sheet.input("v", {n, 1, dv}, normal(n * dv, 3));
    const LinearAttentionResult with = linear_attention(q, k, v, {.causal = true}),
                                without = linear_attention(q, k, v, {.causal = true, .normalise = false});
    for (const auto& [name, result] : {std::pair{"with", with}, {"without", without}}) {
        sheet.graph.output(name, result.o);
        sheet.graph.output(std::string(name) + " lse", result.lse);
        sheet.graph.output(std::string(name) + " state", result.state_kv);
    }
    const auto got = sheet.run();
    std::vector<double> divided;
    for (I i = 0; i < n * dv; ++i)
        divided.push_back(element(got.at("without"), i) / std::exp(element(got.at("with lse"), i / dv)));
    check_close(got.at("with"), divided, 2e-6);
    CHECK(got.at("with state") == got.at("without state"));
    CHECK_THROWS_AS(linear_attention(q, k, v, {.normalise = false, .eps = 1e-6}), Error);
}

// ---- heads of full width --------------------------------------------------------------------------------------------

TEST_CASE("heads of full width, summed, are heads side by side under W_O", "[attention]") {
    constexpr I n = 20, m = 31, heads = 3, width = 8, model = 40;
    const bool first = GENERATE(false, true), batch = GENERATE(false, true);
    const Values q = normal(n * heads * width, 1), k = normal(m * heads * width, 2), v = normal(m * heads * width, 3),
                 w = normal(heads * width * model, 4, 0.2F);  // W_O [heads width, model]
    std::vector<double> want(n * model);
    Values wide(m * heads * model);  // V_h W_O,h
    for (I h = 0; h < heads; ++h) {
        std::vector<double> own;
        for (I i = 0; i < width * model; ++i) own.push_back(element(w, h * width * model + i));
        const std::vector<double> values = head_of(v, heads, h, width),
                                  o = attended(head_of(q, heads, h, width), head_of(k, heads, h, width), values, width,
                                               width),
                                  joined = product(o, own, n, width, model),
                                  full = product(values, own, m, width, model);
        for (I i = 0; i < n * model; ++i) internal::at(want, i) += internal::at(joined, i);
        for (I j = 0; j < m; ++j)
            for (I e = 0; e < model; ++e)
                internal::at(wide, (j * heads + h) * model + e) = static_cast<float>(internal::at(full, j * model + e));
    }
    Sheet sheet;
    const auto part = [&](const char* name, const Values& x, I tokens, I each) {
        const Shape shape = first   ? batch ? Shape{2, heads, tokens, each} : Shape{heads, tokens, each}
                              : batch ? Shape{2, tokens, heads, each}
                                    : Shape{tokens, heads, each};
        Values values = first ? heads_in_front(x, heads, each) : x;
        const Values once = values;
        if (batch) values.insert(values.end(), once.begin(), once.end());
        return sheet.input(name, shape, values);
    };
    const Tensor y = sum_heads(
        attention(part("q", q, n, width), part("k", k, m, width), part("v", wide, m, model), {.heads_first = first}).o,
        first);
    CHECK(y.shape() == (batch ? Shape{2, n, model} : Shape{n, model}));
    sheet.graph.output("y", y);
    const Values got = sheet.run().at("y");
    for (I b = 0; b < (batch ? 2 : 1); ++b)
        check_close(Values(got.begin() + b * n * model, got.begin() + (b + 1) * n * model), want, 5e-6);
}

// ---- projected keys -------------------------------------------------------------------------------------------------

namespace {

struct Linformer {
    static constexpr I heads = 2, width = 12, dv = 7;
    Values q, k, v;
    I n, rank;
    Linformer(I tokens, I projected)
        : q(normal(tokens * heads * width, 1)),
          k(normal(tokens * heads * width, 2)),
          v(normal(tokens * heads * dv, 3)),
          n(tokens),
          rank(projected) {}
    Values projection(unsigned seed) const { return normal(rank * n, seed, 0.3F); }
    AttentionResult in(Sheet& sheet, bool shared, bool first, const AttentionOptions& options) const {
        const auto part = [&](const char* name, const Values& x, I each) {
            return sheet.input(name, first ? Shape{heads, n, each} : Shape{n, heads, each},
                               first ? heads_in_front(x, heads, each) : x);
        };
        LinformerWeights weights{.key = sheet.input("E", {rank, n}, projection(4))};
        if (!shared) weights.value = sheet.input("F", {rank, n}, projection(5));
        return linformer_attention(part("q", q, width), part("k", k, width), part("v", v, dv), weights, options);
    }
};

}  // namespace

TEST_CASE("Linformer attends to projected keys and values", "[attention]") {
    const bool first = GENERATE(false, true), shared = GENERATE(false, true);
    const Linformer l(50, 9);
    Sheet sheet;
    sheet.graph.output("o", l.in(sheet, shared, first, {.heads_first = first}).o);
    const Values got = sheet.run().at("o");
    const Values e = l.projection(4), f = l.projection(shared ? 4 : 5);
    const std::vector<double> key(e.begin(), e.end()), value(f.begin(), f.end());
    for (I h = 0; h < l.heads; ++h) {
        const std::vector<double> k = product(key, head_of(l.k, l.heads, h, l.width), l.rank, l.n, l.width),
                                  v = product(value, head_of(l.v, l.heads, h, l.dv), l.rank, l.n, l.dv);
        std::vector<double> part;
        for (I i = 0; i < l.n * l.dv; ++i)
            part.push_back(element(got, first ? h * l.n * l.dv + i : (i / l.dv * l.heads + h) * l.dv + i % l.dv));
        check_close(Values(part.begin(), part.end()), attended(head_of(l.q, l.heads, h, l.width), k, v, l.width, l.dv),
                    1e-5);
    }
}

TEST_CASE("the scores that Linformer computes grow with n, those of attention with its square", "[attention][cost]") {
    const auto scored = [](I n) {
        Sheet sheet;
        const Tensor counts = Linformer(n, 16).in(sheet, true, false, {}).lse;
        for (Node& node : internal::mutable_nodes(sheet.graph))
            if (node.op == &internal::attention_op) node.attrs.set("counts", true);
        sheet.graph.output("counts", counts);
        const Values of_rows = sheet.run().at("counts");
        return std::accumulate(of_rows.begin(), of_rows.end(), 0.0);
    };
    CHECK(scored(128) == 128.0 * 16 * Linformer::heads);
    CHECK(scored(512) == 4 * scored(128));
}

TEST_CASE("Linformer refuses what hides or places single keys", "[attention]") {
    Sheet sheet;
    const Linformer l(20, 4);
    const auto refused = [&](const AttentionOptions& options, const std::string& name) {
        INFO(name);
        Sheet own;
        CHECK_THROWS_WITH(l.in(own, true, false, options), Catch::Matchers::ContainsSubstring(name + " is set") &&
                                                               Catch::Matchers::ContainsSubstring("for encoders"));
    };
    refused({.causal = true}, "causal");
    refused({.window_left = 3}, "a window");
    refused({.dilation = 2}, "dilation");
    refused({.global_tokens = 1}, "global_tokens");
    refused({.prefix_len = 1}, "prefix_len");
    CHECK_THROWS_WITH(
        linformer_attention(sheet.input("q", {20, 1, 4}, Values(80)), sheet.input("k", {20, 1, 4}, Values(80)),
                            sheet.input("v", {20, 1, 4}, Values(80)), {.key = sheet.input("E", {4, 21}, Values(84))}),
        Catch::Matchers::ContainsSubstring("[K, tokens]"));
}

}  // namespace attention_variants
