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
#include "shaders/params/step.h"
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

TEST_CASE("linear attention without its denominator is q (kᵀ v)", "[attention]") {
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

TEST_CASE("linear attention leaves NaN where NaN was", "[attention]") {
    constexpr I n = 90, d = 4, wrong = 70;
    const bool normalise = GENERATE(false, true), elu = GENERATE(false, true);
    const char* const where = GENERATE("q", "k");
    Values q = normal(n * d, 1), k = normal(n * d, 2);
    for (Values* x : {&q, &k})
        for (float& value : *x) value = std::abs(value);
    (*where == 'q' ? q : k)[wrong * d + 1] = std::nanf("");
    Sheet sheet;
    const LinearAttentionResult result = linear_attention(
        sheet.input("q", {n, 1, d}, q), sheet.input("k", {n, 1, d}, k), sheet.input("v", {n, 1, d}, normal(n * d, 3)),
        {.causal = true, .elu = elu, .normalise = normalise});
    sheet.graph.output("o", result.o);
    sheet.graph.output("lse", result.lse);
    const auto got = sheet.run();
    for (I i = 0; i < n; ++i) {  // a query's own row, and all rows that see a key
        const bool is_wrong = *where == 'q' ? i == wrong : i >= wrong;
        CHECK(std::isnan(element(got.at("lse"), i)) == (is_wrong && normalise));
        for (I e = 0; e < d; ++e) CHECK(std::isnan(element(got.at("o"), i * d + e)) == is_wrong);
    }
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

TEST_CASE("the scores that Linformer computes grow with n, not with its square", "[attention][cost]") {
    const auto scored = [](I n) {
        Sheet sheet;
        const Tensor counts = Linformer(n, 16).in(sheet, true, false, {}).lse;
        for (Node& node : internal::mutable_nodes(sheet.graph))
            if (node.op == &internal::attention_op) node.attrs.set("counts", true);
        sheet.graph.output("counts", counts);
        const Values of_rows = sheet.run().at("counts");
        return std::accumulate(of_rows.begin(), of_rows.end(), 0.0,
                               [](double sum, float x) { return sum + std::round(std::exp(x)); });
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
    refused({.stride = 4}, "a stride");
    refused({.global_tokens = 1}, "global_tokens");
    refused({.prefix_len = 1}, "prefix_len");
    CHECK_THROWS_WITH(
        linformer_attention(sheet.input("q", {20, 1, 4}, Values(80)), sheet.input("k", {20, 1, 4}, Values(80)),
                            sheet.input("v", {20, 1, 4}, Values(80)), {.key = sheet.input("E", {4, 21}, Values(84))}),
        Catch::Matchers::ContainsSubstring("[K, tokens]"));
}

// ---- relative positions ---------------------------------------------------------------------------------------------

namespace {

// Shaw, Uszkoreit and Vaswani 2018, with BERT's third product; one key head for all; the queries end at the last key.
struct Relative {
    static constexpr I heads = 3, width = 8, dv = 6;
    I n, m, reach;
    bool of_keys;
    Values q = normal(n * heads * width, 1), k = normal(m * width, 2), v = normal(m * dv, 3),
           keys = normal((2 * reach + 1) * width, 4), queries = normal((2 * reach + 1) * width, 5),
           values = normal((2 * reach + 1) * dv, 6);

    AttentionOptions options(Sheet& sheet, bool causal) const {
        AttentionOptions all{.causal = causal, .statistics = true};
        all.relative_keys = sheet.input("keys", {2 * reach + 1, width}, keys);
        if (of_keys) all.relative_queries = sheet.input("queries", {2 * reach + 1, width}, queries);
        return all;
    }
    Tensor table_of_values(Sheet& sheet) const { return sheet.input("values", {2 * reach + 1, dv}, values); }

    I row_of(I i, I j) const { return std::clamp(j - i, -reach, reach) + reach; }
    double score(I row, I h, I j) const {
        const I r = row_of(row + m - n, j);
        double sum = 0;
        for (I d = 0; d < width; ++d) {
            const double key = element(k, j * width + d);
            sum += element(q, (row * heads + h) * width + d) * (key + element(keys, r * width + d));
            if (of_keys) sum += key * element(queries, r * width + d);
        }
        return sum / std::sqrt(static_cast<double>(width));
    }
    /// Weights [heads, n, m] of one after the other.
    std::vector<double> weights(bool causal) const {
        std::vector<double> p;
        for (I h = 0; h < heads; ++h)
            for (I row = 0; row < n; ++row) {
                std::vector<double> own;
                for (I j = 0; j < m; ++j) own.push_back(causal && j > row + m - n ? 0 : std::exp(score(row, h, j)));
                const double sum = std::accumulate(own.begin(), own.end(), 0.0);
                for (double weight : own) p.push_back(weight / sum);
            }
        return p;
    }
    /// z [n, heads, dv] of these weights, with relative values or without.
    std::vector<double> result(const std::vector<double>& p, bool with_values) const {
        std::vector<double> z(static_cast<std::size_t>(n * heads * dv));
        for (I h = 0; h < heads; ++h)
            for (I row = 0; row < n; ++row)
                for (I j = 0; j < m; ++j)
                    for (I e = 0; e < dv; ++e) {
                        const I r = row_of(row + m - n, j);
                        internal::at(z, (row * heads + h) * dv + e) +=
                            internal::at(p, (h * n + row) * m + j) *
                            (element(v, j * dv + e) + (with_values ? element(values, r * dv + e) : 0));
                    }
        return z;
    }
    QKV operands(Sheet& sheet) const {
        return {sheet.input("q", {n, heads, width}, q), sheet.input("k", {m, 1, width}, k),
                sheet.input("v", {m, 1, dv}, v)};
    }
};

}  // namespace

TEST_CASE("relative keys and values are added to those of each pair", "[attention]") {
    const bool causal = GENERATE(false, true), of_keys = GENERATE(false, true);
    const I reach = GENERATE(0, 5, 60);
    const Relative all{.n = 30, .m = 50, .reach = reach, .of_keys = of_keys};
    Sheet sheet;
    const QKV x = all.operands(sheet);
    AttentionOptions options = all.options(sheet, causal);
    const AttentionResult keys_only = attention(x.q, x.k, x.v, options);
    sheet.graph.output("keys only", keys_only.o);
    sheet.graph.output("largest", keys_only.largest);
    for (I h = 0; h < all.heads; ++h)
        sheet.graph.output("p" + std::to_string(h),
                           attention_weights(x.q, x.k, keys_only.lse, {.head = h, .position = all.m - all.n}, options));
    options.relative_values = all.table_of_values(sheet);
    sheet.graph.output("o", attention(x.q, x.k, x.v, options).o);
    const auto got = sheet.run();
    const std::vector<double> p = all.weights(causal);
    check_close(got.at("keys only"), all.result(p, false), 5e-6);
    check_close(got.at("o"), all.result(p, true), 1e-5);
    for (I h = 0; h < all.heads; ++h) {
        const auto first = p.begin() + h * all.n * all.m;
        check_close(got.at("p" + std::to_string(h)), {first, first + all.n * all.m}, 2e-6);
        for (I row = 0; row < all.n; ++row)
            CHECK(std::abs(element(got.at("largest"), row * all.heads + h) -
                           *std::max_element(first + row * all.m, first + (row + 1) * all.m)) < 5e-6);
    }
}

TEST_CASE("relative keys work by batch, in a cache, and in every kernel of attention", "[attention]") {
    const std::string kernel = GENERATE("", "split", "plain");
    const Relative all{.n = 3, .m = 290, .reach = 7, .of_keys = true};
    Sheet sheet, half;
    QKV x = all.operands(sheet);
    AttentionOptions options = all.options(sheet, true);
    sheet.graph.output("one", attention(x.q, x.k, x.v, options).o);
    const auto twice = [&](const char* name, Tensor t) {  // the second batch is the first one backwards
        Values both = sheet.floats.at(name);
        for (I i = std::ssize(both) - 1; i >= 0; --i) both.push_back(both[static_cast<std::size_t>(i)]);
        const Shape& s = t.shape();
        return sheet.input(std::string(name) + " twice", {2, s[0], s[1], s[2]}, both);
    };
    sheet.graph.output("batch", attention(twice("q", x.q), twice("k", x.k), twice("v", x.v), options).o);
    const Relative cached{.n = 3, .m = 290, .reach = 7, .of_keys = false};
    AttentionOptions stepped{.causal = true};
    stepped.relative_keys = options.relative_keys;
    sheet.graph.output("no cache", attention(x.q, x.k, x.v, stepped).o);
    std::vector<std::int32_t> words = Step{.position = 287, .valid = 3, .end = 290, .limit = 290}.words();
    words[STEP_KEYS] = 290;
    stepped.step = sheet.graph.input("step", {Step::size}, DType::u32);
    sheet.integers["step"] = words;
    sheet.graph.output("cache", attention(x.q, x.k, x.v, stepped).o);
    const auto got = sheet.run(kernel);
    check_close(got.at("one"), all.result(all.weights(true), false), 1e-5);
    check_close(got.at("no cache"), cached.result(cached.weights(true), false), 1e-5);
    check_close(got.at("cache"), cached.result(cached.weights(true), false), 1e-5);
    const auto in_f16 = [&](const char* name, Tensor t) {
        return half.input(name, t.shape(), sheet.floats.at(name), DType::f16);
    };
    const AttentionResult rounded =
        attention(in_f16("q", x.q), in_f16("k", x.k), in_f16("v", x.v), all.options(half, true));
    half.graph.output("o", rounded.o);
    check_close(half.run(kernel).at("o"), all.result(all.weights(true), false), 2e-2);
    const Values& batch = got.at("batch");
    const Values first(batch.begin(), batch.begin() + std::ssize(batch) / 2);
    check_close(first, all.result(all.weights(true), false), 1e-5);
}

TEST_CASE("weights by distance are sums of the tap's, and of their rows", "[attention]") {
    const Relative all{.n = 40, .m = 40, .reach = 3, .of_keys = false};
    Sheet sheet;
    const QKV x = all.operands(sheet);
    const AttentionOptions options{.causal = true, .window_left = 20};
    const Tensor lse = attention(x.q, x.k, x.v, options).lse;
    sheet.graph.output("p", attention_weights(x.q, x.k, lse, {.head = 2}, options));
    for (const I reach : {0, 2, 100})
        sheet.graph.output(std::to_string(reach), distance_weights(x.q, x.k, lse, reach, options));
    const auto got = sheet.run();
    for (const I reach : {0, 2, 100}) {
        std::vector<double> want(static_cast<std::size_t>(all.n * (2 * reach + 1)));
        for (I i = 0; i < all.n; ++i)
            for (I j = 0; j < all.m; ++j)
                internal::at(want, i * (2 * reach + 1) + std::clamp(j - i, -reach, reach) + reach) +=
                    element(got.at("p"), i * all.m + j);
        Values own;
        for (double value : head_of(got.at(std::to_string(reach)), all.heads, 2, 2 * reach + 1))
            own.push_back(static_cast<float>(value));
        check_close(own, want, 1e-6);
    }
}

TEST_CASE("relative keys that do not fit are refused", "[attention]") {
    Sheet sheet;
    const Relative all{.n = 4, .m = 4, .reach = 2, .of_keys = false};
    const QKV x = all.operands(sheet);
    const AttentionOptions fitting = all.options(sheet, false);
    const auto refused = [&](const AttentionOptions& options, const std::string& text) {
        CHECK_THROWS_WITH(attention(x.q, x.k, x.v, options), Catch::Matchers::ContainsSubstring(text));
    };
    AttentionOptions options = fitting;
    options.relative_keys = sheet.input("even", {4, 8}, Values(32));
    refused(options, "f32 [2 w + 1, 8]");
    options = fitting;
    options.alibi_slopes = sheet.input("slopes", {3}, Values(3));
    refused(options, "more than one bias by position");
    options = {.relative_queries = fitting.relative_keys};
    refused(options, "give both");
    options = fitting;
    options.heads_first = true;
    refused(options, "[(batch,) n, heads, D]");
    options = fitting;
    options.relative_values = sheet.input("too wide", {5, 7}, Values(35));
    refused(options, "must be [2 w + 1, Dv]");
}

}  // namespace attention_variants
