// What has to hold whatever the numbers are: identities from the mathematics, with random inputs and no reference.
// Vaswani et al. 2017 (attention, heads, sinusoids), Su et al. 2021 (rotations), and the definitions of the ops.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "compare_values.h"
#include "runtime/base/at.h"
#include "runtime/graph/op_def.h"
#include "runtime/ops/activation.h"
#include "runtime/ops/layer_norm.h"
#include "runtime/ops/rms_norm.h"
#include "runtime/ops/split_qkv.h"
#include "sheet.h"
#include "test_device.h"
#include "vantage/ops.h"
#include "vantage/plan.h"

using namespace vantage;
using namespace vantage::test;

namespace {

// Multiples of 1/8: sums and differences with whole numbers are exact in float32.
Values eighths(std::int64_t count, unsigned seed) {
    Values values = normal(count, seed, 2);
    for (float& value : values) value = std::round(value * 8) / 8;
    return values;
}

// The rows of x in another order.
Values permuted(const Values& x, std::size_t width, const std::vector<std::size_t>& order) {
    Values y;
    for (std::size_t row : order)
        y.insert(y.end(), x.begin() + static_cast<std::ptrdiff_t>(row * width),
                 x.begin() + static_cast<std::ptrdiff_t>((row + 1) * width));
    return y;
}

std::vector<std::size_t> shuffled(std::size_t count, unsigned seed) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), std::mt19937(seed));
    return order;
}

double sum_of_row(const Values& x, std::size_t row, std::size_t width) {
    return std::accumulate(x.begin() + static_cast<std::ptrdiff_t>(row * width),
                           x.begin() + static_cast<std::ptrdiff_t>((row + 1) * width), 0.0);
}

Tensor activated(Tensor x, const char* kind) {
    return add_call(x.graph(), activation_op, {x}, {{"kind", std::string(kind)}}, SourceLocation::here())[0];
}

}  // namespace

// ---- softmax --------------------------------------------------------------------------------------------------------

TEST_CASE("softmax: rows are distributions and a shift changes nothing", "[properties][subgroup]") {
    const std::string kernel = GENERATE("", "plain");
    for (std::int64_t cols : {7, 132, 1025}) {
        Sheet sheet;
        const Tensor x = sheet.input("x", {5, cols}, eighths(5 * cols, 1)),
                     shift = sheet.input("shift", {1}, Values{-500});
        sheet.graph.output("y", softmax(x));
        sheet.graph.output("shifted", softmax(add(x, shift)));
        sheet.graph.output("log", log_softmax(x));
        const auto got = sheet.run(kernel);
        check_close("softmax(x + c)", got.at("shifted"), got.at("y"), 1e-7, 1e-6);
        for (std::size_t row = 0; row < 5; ++row)
            CHECK(std::abs(sum_of_row(got.at("y"), row, static_cast<std::size_t>(cols)) - 1) < 1e-5);
        CHECK(std::all_of(got.at("y").begin(), got.at("y").end(), [](float p) { return p >= 0 && p <= 1; }));
        Values logarithms = got.at("y");
        for (float& p : logarithms) p = std::log(p);
        check_close("log_softmax", got.at("log"), logarithms, 1e-5, 1e-5);
    }
}

TEST_CASE("softmax: over the first axis is softmax over the last one of the transpose", "[properties][subgroup]") {
    const std::string kernel = GENERATE("", "plain");
    Sheet sheet;
    const Tensor x = sheet.input("x", {300, 17}, normal(300 * 17, 2, 3));
    const auto transposed = [&](Tensor t) {  // [a, b] as a heads of b rows of one feature
        return merge_heads(sheet.graph.reshape(t, {t.shape()[0], t.shape()[1], 1}));
    };
    sheet.graph.output("direct", softmax(x, 0, 0.5));
    sheet.graph.output("turned", transposed(softmax(transposed(x), -1, 0.5)));
    const auto got = sheet.run(kernel);
    check_close("softmax over axis 0", got.at("direct"), got.at("turned"), 1e-7, 1e-5);
}

TEST_CASE("softmax: rows are independent, masked elements weigh nothing, a masked row is zero",
          "[properties][subgroup]") {
    const std::string kernel = GENERATE("", "plain");
    const float masked = -std::numeric_limits<float>::infinity();
    Values x = normal(3 * 40, 3), open;
    for (std::size_t i = 0; i < 40; ++i) {
        if (i % 3 == 1)
            x[40 + i] = masked;
        else
            open.push_back(x[40 + i]);
        x[80 + i] = masked;
    }
    const auto kept = static_cast<std::int64_t>(open.size());
    Sheet sheet;
    sheet.graph.output("y", softmax(sheet.input("x", {3, 40}, x)));
    sheet.graph.output("alone", softmax(sheet.input("open", {1, kept}, open)));
    const auto got = sheet.run(kernel);
    Values row_1;
    for (std::size_t i = 0; i < 40; ++i)
        if (i % 3 != 1)
            row_1.push_back(got.at("y")[40 + i]);
        else
            CHECK(got.at("y")[40 + i] == 0.0f);
    check_close("open elements", row_1, got.at("alone"), 1e-7, 1e-6);
    CHECK(std::all_of(got.at("y").begin() + 80, got.at("y").end(), [](float p) { return p == 0.0f; }));
}

// ---- norms ----------------------------------------------------------------------------------------------------------

TEST_CASE("layer_norm: mean 0, variance 1, blind to shift and scale; rms_norm: blind to scale",
          "[properties][subgroup]") {
    const std::string kernel = GENERATE("", "plain");
    for (std::int64_t cols : {33, 768}) {
        const std::int64_t count = 4 * cols;
        Values x = eighths(count, 4), moved = x, grown = x;
        for (float& value : moved) value = 4 * value + 300;
        for (float& value : grown) value *= -8;
        Sheet sheet;
        const Tensor a = sheet.input("x", {4, cols}, x), b = sheet.input("moved", {4, cols}, moved),
                     c = sheet.input("grown", {4, cols}, grown);
        sheet.graph.output("y", layer_norm(a, {}, {}, 1e-12));
        sheet.graph.output("y_moved", layer_norm(b, {}, {}, 1e-12));
        sheet.graph.output("r", rms_norm(a, {}, 1e-12));
        sheet.graph.output("r_grown", scale(rms_norm(c, {}, 1e-12), -1));
        // of rows without a mean the two norms are one
        sheet.graph.output("r_of_y", rms_norm(layer_norm(a, {}, {}, 1e-12), {}, 1e-12));
        const auto got = sheet.run(kernel);
        check_close("layer_norm(4 x + 300)", got.at("y_moved"), got.at("y"), 2e-6, 2e-6);
        check_close("rms_norm(-8 x)", got.at("r_grown"), got.at("r"), 1e-6, 1e-6);
        check_close("rms_norm(layer_norm(x))", got.at("r_of_y"), got.at("y"), 2e-6, 2e-6);
        Values squares = got.at("y");
        for (float& value : squares) value *= value;
        for (std::size_t row = 0; row < 4; ++row) {
            CHECK(std::abs(sum_of_row(got.at("y"), row, static_cast<std::size_t>(cols))) <
                  1e-5 * static_cast<double>(cols));
            CHECK(std::abs(sum_of_row(squares, row, static_cast<std::size_t>(cols)) / static_cast<double>(cols) - 1) <
                  1e-5);
        }
    }
}

TEST_CASE("a norm with its residual inside is the sum and then the norm", "[properties][subgroup]") {
    const std::string kernel = GENERATE("", "plain");
    for (std::int64_t cols : {64, 129}) {
        Sheet sheet;
        const Tensor x = sheet.input("x", {3, cols}, normal(3 * cols, 5)),
                     residual = sheet.input("residual", {3, cols}, normal(3 * cols, 6));
        const Tensor gamma = sheet.input("gamma", {cols}, normal(cols, 7, 0.2f, 1)),
                     beta = sheet.input("beta", {cols}, normal(cols, 8));
        const std::vector<Tensor> layer =
            add_call(sheet.graph, layer_norm_op, {x, gamma, beta, residual}, {{"eps", 1e-5}}, SourceLocation::here());
        const std::vector<Tensor> rms = add_call(sheet.graph, rms_norm_op, {x, gamma, residual},
                                                 {{"eps", 1e-6}, {"weight_offset", 1.0}}, SourceLocation::here());
        const Tensor sum = add(x, residual);
        sheet.graph.output("sum", sum);
        sheet.graph.output("layer sum", layer[3]);
        sheet.graph.output("rms sum", rms[2]);
        sheet.graph.output("layer", layer[0]);
        sheet.graph.output("rms", rms[0]);
        sheet.graph.output("layer apart", layer_norm(sum, gamma, beta, 1e-5));
        sheet.graph.output("rms apart", rms_norm(sum, gamma, 1e-6, 1));
        const auto got = sheet.run(kernel);
        check_close("sum of layer_norm", got.at("layer sum"), got.at("sum"), 0);
        check_close("sum of rms_norm", got.at("rms sum"), got.at("sum"), 0);
        check_close("layer_norm", got.at("layer"), got.at("layer apart"), 1e-6, 1e-6);
        check_close("rms_norm", got.at("rms"), got.at("rms apart"), 1e-6, 1e-6);
    }
}

// ---- element by element ---------------------------------------------------------------------------------------------

TEST_CASE("activations: what x passes and -x keeps make up x", "[properties]") {
    const Values x = normal(1003, 9, 4);
    Sheet sheet;
    const Tensor a = sheet.input("x", {1003}, x), minus = scale(a, -1);
    for (const char* kind : {"gelu_erf", "gelu_tanh", "quick_gelu", "silu", "relu", "softplus"})  // f(x) - f(-x) = x
        sheet.graph.output(kind, add(activated(a, kind), scale(activated(minus, kind), -1)));
    sheet.graph.output("tanh", add(activated(a, "tanh"), activated(minus, "tanh")));
    sheet.graph.output("sigmoid", add(activated(a, "sigmoid"), activated(minus, "sigmoid")));
    sheet.graph.output("tanh from sigmoid",
                       add(scale(activated(scale(a, 2), "sigmoid"), 2), sheet.input("minus one", {1}, Values{-1})));
    sheet.graph.output("tanh itself", activated(a, "tanh"));
    sheet.graph.output("relu2", activated(a, "relu2"));
    sheet.graph.output("relu squared", mul(relu(a), relu(a)));
    const auto got = sheet.run();
    for (const char* kind : {"gelu_erf", "gelu_tanh", "quick_gelu", "silu", "relu", "softplus"})
        check_close(kind, got.at(kind), x, 2e-6, 1e-6);
    check_close("tanh is odd", got.at("tanh"), Values(x.size(), 0), 0);
    check_close("sigmoid(x) + sigmoid(-x)", got.at("sigmoid"), Values(x.size(), 1), 1e-6);
    check_close("2 sigmoid(2 x) - 1", got.at("tanh from sigmoid"), got.at("tanh itself"), 1e-6);
    check_close("relu2", got.at("relu2"), got.at("relu squared"), 0);
}

TEST_CASE("swish lies between x / 2 and relu, with silu and quick_gelu on the way", "[properties]") {
    const Values x = normal(1003, 9, 4);
    Sheet sheet;
    const Tensor a = sheet.input("x", {1003}, x), minus = scale(a, -1);
    for (const double beta : {0.0, 1.0, 1.702, 50.0, 1e30, -3.0}) {
        sheet.graph.output(std::to_string(beta), swish(a, beta));
        sheet.graph.output("x of " + std::to_string(beta), swish(a, beta) - swish(minus, beta));
    }
    sheet.graph.output("after a product",
                       swish(matmul(sheet.graph.reshape(a, {1003, 1}), sheet.input("one", {1, 1}, Values{1})), 50));
    for (const char* kind : {"silu", "quick_gelu", "relu"}) sheet.graph.output(kind, activated(a, kind));
    const auto got = sheet.run();
    const auto of = [&](double beta) { return got.at(std::to_string(beta)); };
    Values half = x;
    for (float& value : half) value /= 2;
    check_close("beta 0", of(0), half, 0);
    check_close("beta 1", of(1), got.at("silu"), 0);
    check_close("beta 1.702", of(1.702), got.at("quick_gelu"), 0);
    check_close("beta 50", of(50), got.at("relu"), 0.2785 / 50);  // max of t σ(-t) is 0.27846
    check_close("beta 1e30", of(1e30), got.at("relu"), 0);
    check_close("behind a product, which ends in no swish", got.at("after a product"), of(50), 0);
    for (const double beta : {0.0, 1.0, 1.702, 50.0, 1e30, -3.0})
        check_close("swish(x) - swish(-x)", got.at("x of " + std::to_string(beta)), x, 2e-6, 1e-6);
    CHECK_THROWS_AS(swish(sheet.input("y", {1}, Values{0}), std::nan("")), Error);
}

TEST_CASE("swiglu is silu(gate) times up; sums and products commute", "[properties]") {
    Sheet sheet;
    const Tensor gate = sheet.input("gate", {5, 37}, normal(185, 10, 3)),
                 up = sheet.input("up", {5, 37}, normal(185, 11));
    sheet.graph.output("swiglu", swiglu(gate, up));
    sheet.graph.output("in steps", mul(silu(gate), up));
    sheet.graph.output("a + b", gate + up);
    sheet.graph.output("b + a", up + gate);
    sheet.graph.output("a b", gate * up);
    sheet.graph.output("b a", up * gate);
    const auto got = sheet.run();
    check_close("swiglu", got.at("swiglu"), got.at("in steps"), 1e-6, 1e-6);
    check_close("a + b", got.at("a + b"), got.at("b + a"), 0);
    check_close("a b", got.at("a b"), got.at("b a"), 0);
}

TEST_CASE("two linear layers without anything between them are one", "[properties]") {
    Sheet sheet;
    const Tensor x = sheet.input("x", {9, 40}, normal(360, 12)),
                 first = sheet.input("first", {40, 56}, normal(40 * 56, 13, 0.15f)),
                 second = sheet.input("second", {56, 24}, normal(56 * 24, 14, 0.15f));
    sheet.graph.output("apart", linear(linear(x, first), second));
    sheet.graph.output("collapsed", linear(x, matmul(first, second)));
    const auto got = sheet.run();
    check_close("(x W1) W2", got.at("apart"), got.at("collapsed"), 1e-5, 1e-5);
}

// ---- heads ----------------------------------------------------------------------------------------------------------

TEST_CASE("heads: merging undoes splitting, and every feature goes where it belongs", "[properties]") {
    const DType dtype = GENERATE(DType::f32, DType::f16);
    for (const auto& [n, heads, width] :
         {std::tuple<std::int64_t, std::int64_t, std::int64_t>{6, 4, 6}, {13, 3, 7}, {10, 12, 64}}) {
        const Values x = eighths(2 * n * heads * width, 15);
        Sheet sheet;
        const Tensor t = sheet.input("x", {2, n, heads * width}, x, dtype), split = split_heads(t, heads);
        CHECK(split.shape() == Shape{2, heads, n, width});
        sheet.graph.output("split", split);
        sheet.graph.output("back", merge_heads(split));
        const auto got = sheet.run();
        check_close("merged", got.at("back"), x, 0);
        const auto i = static_cast<std::size_t>(((1 * heads + heads - 1) * n + 2) * width +
                                                3);  // batch 1, last head, row 2, feature 3
        CHECK(got.at("split")[i] == at(x, (n + 2) * heads * width + (heads - 1) * width + 3));
    }
}

TEST_CASE("heads: a packed projection comes apart into three projections", "[properties]") {
    const std::int64_t n = 5, width = 32, heads = 4, kv_heads = 2, d = 8;
    const Values x = normal(n * width, 16), q = normal(width * heads * d, 17), k = normal(width * kv_heads * d, 18),
                 v = normal(width * kv_heads * d, 19);
    Values packed;  // [width, (4 + 2 + 2) 8]: q, k and v side by side
    for (std::int64_t row = 0; row < width; ++row)
        for (const Values* part : {&q, &k, &v}) {
            const auto cols = static_cast<std::ptrdiff_t>(part->size()) / width;
            packed.insert(packed.end(), part->begin() + row * cols, part->begin() + (row + 1) * cols);
        }
    Sheet sheet;
    const Tensor t = sheet.input("x", {n, width}, x);
    const QKV parts =
        split_qkv(linear(t, sheet.input("packed", {width, (heads + 2 * kv_heads) * d}, packed)), heads, kv_heads);
    sheet.graph.output("q", parts.q);
    sheet.graph.output("k", parts.k);
    sheet.graph.output("v", parts.v);
    sheet.graph.output("q alone", linear(t, sheet.input("wq", {width, heads * d}, q)));
    sheet.graph.output("k alone", linear(t, sheet.input("wk", {width, kv_heads * d}, k)));
    sheet.graph.output("v alone", linear(t, sheet.input("wv", {width, kv_heads * d}, v)));
    const auto got = sheet.run();
    for (const std::string part : {"q", "k", "v"}) check_close(part, got.at(part), got.at(part + " alone"), 1e-5, 1e-5);
}

TEST_CASE("heads: attention over split heads is attention with heads inside", "[properties]") {
    const std::int64_t n = 11, heads = 3, d = 17;
    Sheet sheet;
    std::vector<Tensor> inside, split;
    for (const char* name : {"q", "k", "v"}) {
        const Tensor t = sheet.input(name, {n, heads * d}, normal(n * heads * d, static_cast<unsigned>(name[0])));
        inside.push_back(sheet.graph.reshape(t, {n, heads, d}));
        split.push_back(split_heads(t, heads));
    }
    sheet.graph.output("inside", attention(inside[0], inside[1], inside[2], {.causal = true}).o);
    sheet.graph.output("split",
                       merge_heads(attention(split[0], split[1], split[2], {.causal = true, .heads_first = true}).o));
    const auto got = sheet.run();
    check_close("heads first", got.at("split"), got.at("inside"), 1e-6, 1e-6);
}

// ---- attention ------------------------------------------------------------------------------------------------------

namespace {

struct Attended {
    std::int64_t n, m, heads, kv_heads, d, dv;
    Values q, k, v;
    Attended(std::int64_t n_, std::int64_t m_, std::int64_t heads_, std::int64_t kv_heads_, std::int64_t d_,
             std::int64_t dv_)
        : n(n_),
          m(m_),
          heads(heads_),
          kv_heads(kv_heads_),
          d(d_),
          dv(dv_),
          q(normal(n * heads * d, 21)),
          k(normal(m * kv_heads * d, 22)),
          v(normal(m * kv_heads * dv, 23)) {}
};

AttentionResult attend(Sheet& sheet, const Attended& a, bool causal, const std::string& prefix = {}) {
    return attention(sheet.input(prefix + "q", {a.n, a.heads, a.d}, a.q),
                     sheet.input(prefix + "k", {a.m, a.kv_heads, a.d}, a.k),
                     sheet.input(prefix + "v", {a.m, a.kv_heads, a.dv}, a.v), {.causal = causal});
}

}  // namespace

TEST_CASE("attention: weights of a row sum to 1, and the output is their mean of the values",
          "[properties][subgroup]") {
    const std::string kernel = GENERATE("", "split", "plain");
    const bool causal = GENERATE(false, true);
    const Attended a(7, 150, 4, 2, 24, 32);
    Sheet sheet;
    const Tensor q = sheet.input("q", {a.n, a.heads, a.d}, a.q), k = sheet.input("k", {a.m, a.kv_heads, a.d}, a.k),
                 v = sheet.input("v", {a.m, a.kv_heads, a.dv}, a.v);
    const AttentionResult result = attention(q, k, v, {.causal = causal});
    sheet.graph.output("o", result.o);
    for (std::int64_t head = 0; head < a.heads; ++head)
        sheet.graph.output(
            "p" + std::to_string(head),
            attention_weights(q, k, result.lse, {.head = head, .rows = a.n, .keys = a.m, .position = a.m - a.n},
                              {.causal = causal}));
    const auto got = sheet.run(kernel);
    Values means;
    for (std::int64_t i = 0; i < a.n; ++i)
        for (std::int64_t head = 0; head < a.heads; ++head) {
            const Values& p = got.at("p" + std::to_string(head));
            CHECK(std::abs(sum_of_row(p, static_cast<std::size_t>(i), static_cast<std::size_t>(a.m)) - 1) < 2e-5);
            for (std::int64_t j = 0; j < a.m; ++j)
                if (causal && j > i + a.m - a.n) CHECK(at(p, i * a.m + j) == 0.0f);
            for (std::int64_t d = 0; d < a.dv; ++d) {
                double mean = 0;
                float low = HUGE_VALF, high = -HUGE_VALF;
                for (std::int64_t j = 0; j < a.m; ++j) {
                    const float value = at(a.v, (j * a.kv_heads + head / 2) * a.dv + d);
                    mean += static_cast<double>(at(p, i * a.m + j)) * value;
                    low = std::min(low, value), high = std::max(high, value);
                }
                means.push_back(static_cast<float>(mean));
                const float o = at(got.at("o"), (i * a.heads + head) * a.dv + d);
                const bool inside = o >= low - 1e-5f && o <= high + 1e-5f;
                if (!inside) FAIL_CHECK("outside the convex hull of the values: " << o);
            }
        }
    check_close("A v", got.at("o"), means, 2e-5, 2e-5);
}

TEST_CASE("attention: the order of keys is nothing, the order of queries is the output's", "[properties][subgroup]") {
    const std::string kernel = GENERATE("", "split", "plain");
    const Attended a(9, 70, 2, 1, 24, 24);
    const std::vector<std::size_t> keys = shuffled(70, 24), queries = shuffled(9, 25);
    Attended by_key = a, by_query = a;
    by_key.k = permuted(a.k, 24, keys), by_key.v = permuted(a.v, 24, keys);
    by_query.q = permuted(a.q, 48, queries);
    Sheet sheet;
    sheet.graph.output("o", attend(sheet, a, false).o);
    sheet.graph.output("by key", attend(sheet, by_key, false, "key ").o);
    sheet.graph.output("by query", attend(sheet, by_query, false, "query ").o);
    const auto got = sheet.run(kernel);
    check_close("keys permuted", got.at("by key"), got.at("o"), 2e-6, 2e-6);
    check_close("queries permuted", got.at("by query"), permuted(got.at("o"), 48, queries), 1e-6, 1e-6);
}

TEST_CASE("attention: a causal row sees nothing of what comes later", "[properties][subgroup]") {
    const std::string kernel = GENERATE("", "split", "plain");
    for (const std::int64_t n : {40, 5}) {
        const std::int64_t m = 80, changed = 77;  // tokens from position 77 on are others
        const Attended a(n, m, 2, 2, 24, 24);
        Attended b = a;
        for (std::size_t i = changed * 48; i < b.k.size(); ++i) b.k[i] += 3, b.v[i] -= 2;
        for (std::size_t i = static_cast<std::size_t>(changed - (m - n)) * 48; i < b.q.size(); ++i) b.q[i] += 1;
        Sheet sheet;
        sheet.graph.output("a", attend(sheet, a, true).o);
        sheet.graph.output("b", attend(sheet, b, true, "b ").o);
        const auto got = sheet.run(kernel);
        const auto same = static_cast<std::ptrdiff_t>((changed - (m - n)) * 48);
        CHECK(std::equal(got.at("a").begin(), got.at("a").begin() + same, got.at("b").begin()));
        CHECK(!std::equal(got.at("a").begin() + same, got.at("a").end(), got.at("b").begin() + same));
    }
}

TEST_CASE("attention: the dot product of normal vectors has a variance of their width", "[properties]") {
    for (std::int64_t d : {8, 64, 256}) {
        Sheet sheet;
        const Tensor q = sheet.input("q", {128, d}, normal(128 * d, 26)),
                     k = sheet.input("k", {128, d}, normal(128 * d, 27));
        sheet.graph.output("s", matmul(q, k, {.transpose_b = true}));
        sheet.graph.output("scaled",
                           matmul(q, k, {.transpose_b = true, .alpha = 1 / std::sqrt(static_cast<double>(d))}));
        const auto got = sheet.run();
        const auto variance = [](const Values& s) {
            return std::inner_product(s.begin(), s.end(), s.begin(), 0.0) / static_cast<double>(s.size());
        };
        CHECK(std::abs(variance(got.at("s")) / static_cast<double>(d) - 1) < 0.1);
        CHECK(std::abs(variance(got.at("scaled")) - 1) < 0.1);
    }
}

// ---- positions ------------------------------------------------------------------------------------------------------

// sin and cos of p w rotated by the angle k w are those of (p + k) w, whatever p: a shift of position is linear.
TEST_CASE("sinusoids: position p + k is a rotation of position p that depends on k alone", "[properties]") {
    const std::int64_t n = 20, dim = 24, shift = 13;
    const Values table = sinusoidal_table(n + shift, dim, 10000, true);
    Values at(table.begin(), table.begin() + n * dim), later(table.begin() + shift * dim, table.end());
    for (Values* values : {&at, &later})  // rope turns (cos, sin); the table has (sin, cos)
        for (std::size_t i = 0; i < values->size(); i += 2) std::swap((*values)[i], (*values)[i + 1]);
    Sheet sheet;
    const Tensor x = sheet.input("x", {n, 1, dim}, at);
    const Tensor positions =
        sheet.input("positions", {n}, std::vector<std::int32_t>(n, static_cast<std::int32_t>(shift)));
    sheet.graph.output(
        "y", rope(x, rope_table(sheet.graph, shift + 1, dim, 10000), {.interleaved = true, .positions = positions}));
    check_close("rotated", sheet.run().at("y"), later, 1e-6, 1e-6);
}

TEST_CASE("rope: lengths stay, and products depend on the distance alone", "[properties]") {
    const bool interleaved = GENERATE(false, true);
    const std::int64_t n = 12, d = 16;
    const Values one = normal(d, 28);
    Values x;  // the same vector at every position
    for (std::int64_t i = 0; i < n; ++i) x.insert(x.end(), one.begin(), one.end());
    std::vector<std::int32_t> positions(n);
    std::iota(positions.begin(), positions.end(), 40);
    Sheet sheet;
    const Tensor table = rope_table(sheet.graph, 64, d, 10000);
    const Tensor y = rope(sheet.input("x", {n, 1, d}, x), table,
                          {.interleaved = interleaved, .positions = sheet.input("positions", {n}, positions)});
    const Tensor rows = sheet.graph.reshape(y, {n, d});
    sheet.graph.output("products", matmul(rows, rows, {.transpose_b = true}));
    const Values products = sheet.run().at("products");
    const double length = std::inner_product(one.begin(), one.end(), one.begin(), 0.0);
    for (std::size_t i = 0; i < 12; ++i) {
        CHECK(std::abs(products[i * 12 + i] - length) < 1e-5 * length);
        for (std::size_t j = 0; j + i < 12; ++j)
            CHECK(std::abs(products[j * 12 + j + i] - products[i]) < 2e-5 * length);
    }
}
