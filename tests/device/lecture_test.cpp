// The numbers of a lecture, digit by digit, computed on the device: Y. Huang, "The Mathematics of Attention and
// Transformers" (lecture slides). It prints two decimals (three in its table of sinusoids), rounded from exact values;
// its one rounded chain (σ = 1.15 in LayerNorm, then divided) agrees at two decimals as well.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>

#include "compare_values.h"
#include "runtime/base/format.h"
#include "runtime/inspect/worked_example.h"
#include "test_device.h"
#include "vantage/ops.h"
#include "vantage/plan.h"

using namespace vantage;
using namespace vantage::test;

namespace {

using Matrix = std::vector<float>;

void check_equal(const std::string& name, const Matrix& got, const std::vector<double>& want) {
    check_printed(name, got, want, 2e-5);
}

Tensor constant(Graph& g, const std::string& name, Shape shape, const Matrix& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return g.constant(name, shape, DType::f32, std::move(bytes));
}

Matrix run(Graph g, const std::string& output) {
    Plan plan = compile(g, test_device(), {.guard = true});
    plan.run();
    return plan.read(output).vector();
}

const Matrix q{1, 1, 1, 2, 1, 1, 1, 1, 1, 2, 0, 2, 1, 0, 2, 1}, k{1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 0, 1, 0, 0, 2, 2},
    v{1, 1, 1, 1, 1, 1, 1, 1, 2, 0, 2, 0, 0, 2, 0, 2};

}  // namespace

TEST_CASE("lecture: AAPL revenue beat expectations, from X to Z", "[lecture]") {
    WorkedExample example = worked_example();
    REQUIRE(example.tokens == std::vector<std::string>{"AAPL", "revenue", "beat", "expectations"});
    Plan plan = compile(example.graph, test_device(), {.guard = true});
    plan.run();
    check_equal("Q", plan.read("Q").vector(), {q.begin(), q.end()});
    check_equal("K", plan.read("K").vector(), {k.begin(), k.end()});
    check_equal("V", plan.read("V").vector(), {v.begin(), v.end()});
    check_equal("S", plan.read("S").vector(), {5, 7, 6, 6, 4, 5, 5, 4, 5, 7, 8, 4, 4, 5, 3, 6});
    const Matrix a = plan.read("A").vector();
    check_printed("A", a,
                  {0.14, 0.39, 0.24, 0.24, 0.19, 0.31, 0.31, 0.19, 0.11, 0.31, 0.51, 0.07, 0.17, 0.28, 0.10, 0.46});
    for (std::size_t row = 0; row < 4; ++row)
        CHECK(std::abs(a[4 * row] + a[4 * row + 1] + a[4 * row + 2] + a[4 * row + 3] - 1) < 1e-6f);
    const std::vector<double> z{1, 1, 1, 1, 1.12, 0.88, 1.12, 0.88, 1.44, 0.56, 1.44, 0.56, 0.65, 1.35, 0.65, 1.35};
    check_printed("Z", plan.read("Z").vector(), z);
    check_printed("Z by the fused kernel", plan.read("Z_fused").vector(), z);
    check_equal("S of two heads", plan.read("S_heads").vector(),
                {2, 2, 4, 0, 2, 2, 4, 0, 3, 3, 6, 0, 1, 1, 2, 0, 3, 5, 2, 6, 2, 3, 1, 4, 2, 4, 2, 4, 3, 4, 1, 6});
    check_printed("A of two heads", plan.read("A_heads").vector(),
                  {.16, .16, .65, .04, .16, .16, .65, .04, .10, .10, .80, .01, .22, .22, .45, .11,
                   .07, .29, .04, .60, .13, .27, .06, .54, .10, .40, .10, .40, .09, .17, .02, .72});
    const Matrix exact = plan.read("Z").vector(), fused = plan.read("Z_fused").vector();
    for (std::size_t i = 0; i < exact.size(); ++i) CHECK(std::abs(exact[i] - fused[i]) < 2e-6f);
}

TEST_CASE("lecture: what scaling by √d does to a row", "[lecture]") {
    const auto softened = [](double scale) {
        Graph g;
        g.output("y", softmax(constant(g, "s", {1, 4}, {5, 7, 8, 4}), -1, scale));
        return run(std::move(g), "y");
    };
    check_printed("without", softened(1), {0.03, 0.26, 0.70, 0.01});
    check_printed("with", softened(0.5), {0.11, 0.31, 0.51, 0.07});
    Graph g;
    const Tensor typical = constant(g, "s", {1, 4}, {30, -5, 2, -10});
    g.output("saturated", softmax(typical));
    g.output("scaled", softmax(typical, -1, 1.0 / 16));
    Plan plan = compile(g, test_device());
    plan.run();
    check_printed("saturated", plan.read("saturated").vector(), {1, 0, 0, 0});
    check_printed("scaled", plan.read("scaled").vector(), {0.73, 0.08, 0.13, 0.06});
}

TEST_CASE("lecture: two heads of width 2", "[lecture]") {
    Graph g;
    const auto heads = [&](const char* name, const Matrix& values) { return constant(g, name, {4, 2, 2}, values); };
    const Tensor qs = heads("q", q), ks = heads("k", k), vs = heads("v", v);
    const AttentionResult result = attention(qs, ks, vs);
    g.output("z", g.reshape(result.o, {4, 4}));
    for (std::int64_t head = 0; head < 2; ++head)
        g.output(format("a{}", head),
                 attention_weights(qs, ks, result.lse,
                                   {.head = head, .first_row = 0, .rows = 4, .first_key = 0, .keys = 4}));
    Plan plan = compile(g, test_device());
    plan.run();
    check_printed("A of head 1", plan.read("a0").vector(),
                  {.16, .16, .65, .04, .16, .16, .65, .04, .10, .10, .80, .01, .22, .22, .45, .11});
    check_printed("A of head 2", plan.read("a1").vector(),
                  {.07, .29, .04, .60, .13, .27, .06, .54, .10, .40, .10, .40, .09, .17, .02, .72});
    check_printed("Z, heads side by side", plan.read("z").vector(),
                  {1.61, 0.39, 0.44, 1.56, 1.61, 0.39, 0.53, 1.47, 1.79, 0.21, 0.70, 1.30, 1.34, 0.66, 0.30, 1.70});
}

TEST_CASE("lecture: a causal mask", "[lecture]") {
    Graph g;
    const auto head = [&](const char* name, const Matrix& values) { return constant(g, name, {4, 1, 4}, values); };
    const Tensor qs = head("q", q), ks = head("k", k);
    const AttentionResult result = attention(qs, ks, head("v", v), {.causal = true});
    g.output("a",
             attention_weights(qs, ks, result.lse, {.head = 0, .first_row = 0, .rows = 4, .first_key = 0, .keys = 4},
                               {.causal = true}));
    check_printed("A", run(std::move(g), "a"),
                  {1, 0, 0, 0, 0.38, 0.62, 0, 0, 0.12, 0.33, 0.55, 0, 0.17, 0.28, 0.10, 0.46});
}

TEST_CASE("lecture: its first practice problem", "[lecture]") {
    Graph g;
    const Tensor x = constant(g, "x", {3, 4}, {1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1});
    const auto projected = [&](const char* name, const Matrix& weights) {
        return matmul(x, constant(g, name, {4, 2}, weights));
    };
    const Tensor qs = projected("w_q", {1, 0, 0, 1, 1, 0, 0, 1}), ks = projected("w_k", {0, 1, 1, 0, 0, 1, 1, 1}),
                 vs = projected("w_v", {1, 0, 0, 1, 1, 0, 0, 1});
    const Tensor s = matmul(qs, ks, {.transpose_b = true}), a = softmax(s, -1, 1 / std::sqrt(2.0));
    g.output("s", s);
    g.output("a", a);
    g.output("z", matmul(a, vs));
    Plan plan = compile(g, test_device());
    plan.run();
    check_equal("S", plan.read("s").vector(), {5, 3, 6, 4, 2, 4, 7, 3, 6});
    check_printed("A", plan.read("a").vector(), {0.31, 0.07, 0.62, 0.45, 0.11, 0.45, 0.64, 0.04, 0.32});
    check_printed("Z", plan.read("z").vector(), {1.31, 1.62, 1.45, 1.45, 1.64, 1.32});
}

TEST_CASE("lecture: LayerNorm and sinusoids", "[lecture]") {
    Graph g;
    g.output("y", layer_norm(constant(g, "h", {1, 4}, {2, -1, 0.5f, 1.5f}), {}, {}, 0));
    check_printed("LN", run(std::move(g), "y"), {1.09, -1.53, -0.22, 0.65});
    check_printed("PE", sinusoidal_table(4, 8),
                  {0,     1,      0,     1,     0,     1, 0,     1, 0.841, 0.540,  0.100, 0.995, 0.010, 1, 0.001, 1,
                   0.909, -0.416, 0.199, 0.980, 0.020, 1, 0.002, 1, 0.141, -0.990, 0.296, 0.955, 0.030, 1, 0.003, 1},
                  0.001);
}

TEST_CASE("lecture: the steps between its matrices", "[lecture]") {
    Graph g;
    const auto scores = [&](const std::string& name, const Matrix& queries, const Matrix& keys, std::int64_t width,
                            double divisor = 1) {
        const Tensor a = constant(g, "q of " + name, {4, width}, queries),
                     b = constant(g, "k of " + name, {4, width}, keys);
        g.output(name, matmul(a, b, {.transpose_b = true, .alpha = 1 / divisor}));
    };
    const auto half = [](const Matrix& rows, std::size_t head) {  // columns of a head of width 2
        Matrix part;
        for (std::size_t i = 0; i < rows.size(); ++i)
            if (i % 4 / 2 == head) part.push_back(rows[i]);
        return part;
    };
    scores("S / 2", q, k, 4, std::sqrt(4.0));
    scores("S1", half(q, 0), half(k, 0), 2);
    scores("S2", half(q, 1), half(k, 1), 2);
    const Tensor row = constant(g, "row 1", {1, 4}, {2.5F, 3.5F, 3, 3});
    g.output("alpha", softmax(row));
    g.output("log alpha", log_softmax(row));
    const Tensor h = constant(g, "h", {4, 1}, {2, -1, 0.5F, 1.5F});  // as a batch: its statistics are results
    const BatchNormResult statistics = batch_norm(h, {}, {}, constant(g, "mean", {1}, {0}),
                                                  constant(g, "variance", {1}, {1}), {.training = true, .momentum = 1});
    g.output("mean of h", statistics.mean);
    g.output("variance of h", statistics.variance);  // divided by 3, not by 4
    Plan plan = compile(g, test_device());
    plan.run();
    const auto read = [&](const char* name) { return plan.read(name).vector(); };
    check_printed("S / 2", read("S / 2"), {2.5, 3.5, 3, 3, 2, 2.5, 2.5, 2, 2.5, 3.5, 4, 2, 2, 2.5, 1.5, 3});
    check_equal("S1", read("S1"), {2, 2, 4, 0, 2, 2, 4, 0, 3, 3, 6, 0, 1, 1, 2, 0});
    check_equal("S2", read("S2"), {3, 5, 2, 6, 2, 3, 1, 4, 2, 4, 2, 4, 3, 4, 1, 6});
    Matrix exponentials = read("alpha");  // e^s = α Σ, ln Σ = s - log α
    const float sum = std::exp(2.5F - read("log alpha")[0]);
    for (float& one : exponentials) one *= sum;
    check_printed("exponentials", exponentials, {12.18, 33.12, 20.09, 20.09});
    check_printed("mean of h", read("mean of h"), {0.75});
    const float variance = read("variance of h")[0] * 3 / 4;
    check_printed("variance of h", {variance}, {1.3125}, 0.0001);
    check_printed("standard deviation of h", {std::sqrt(variance)}, {1.15});
}

TEST_CASE("lecture: its first practice problem, up to the softmax", "[lecture]") {
    Graph g;
    const Tensor x = constant(g, "x", {3, 4}, {1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1});
    const Tensor queries = matmul(x, constant(g, "w_q", {4, 2}, {1, 0, 0, 1, 1, 0, 0, 1})),
                 keys = matmul(x, constant(g, "w_k", {4, 2}, {0, 1, 1, 0, 0, 1, 1, 1}));
    g.output("Q", queries);
    g.output("K", keys);
    g.output("scaled", matmul(queries, keys, {.transpose_b = true, .alpha = 1 / std::sqrt(2.0)}));
    Plan plan = compile(g, test_device());
    plan.run();
    check_equal("Q", plan.read("Q").vector(), {2, 1, 1, 1, 1, 2});  // V is the same
    check_equal("K", plan.read("K").vector(), {1, 3, 1, 1, 2, 2});
    check_printed("S / √2", plan.read("scaled").vector(), {3.54, 2.12, 4.24, 2.83, 1.41, 2.83, 4.95, 2.12, 4.24});
}

// Queries are the rows of a Hadamard matrix and their negatives: features of variance 1, and variances that are exact.
TEST_CASE("lecture: its second practice problem, and d_k = 64", "[lecture]") {
    Graph g;
    Matrix ones(256, 1);
    for (std::size_t i = 0; i < ones.size(); i += 3) ones[i] = -1;
    const Tensor queries = constant(g, "q", {256, 256}, hadamard(256)), key = constant(g, "k", {1, 256}, ones);
    for (const double divisor : {1, 16, 256})
        g.output(format("{}", static_cast<int>(divisor)),
                 matmul(queries, key, {.transpose_b = true, .alpha = 1 / divisor}));
    const Tensor narrow = constant(g, "q of 64", {64, 64}, hadamard(64)),
                 one = constant(g, "k of 64", {1, 64}, {ones.begin(), ones.begin() + 64});
    g.output("64", matmul(narrow, one, {.transpose_b = true}));
    g.output("by 256", softmax(constant(g, "s", {1, 4}, {30, -5, 2, -10}), -1, 1.0 / 256));
    Plan plan = compile(g, test_device());
    plan.run();
    const auto variance = [&](const char* name) { return static_cast<float>(mean_square(plan.read(name).vector())); };
    check_equal("deviation of q·k", {std::sqrt(variance("1"))}, {16});  // and so typical scores within ±32
    check_equal("of q·k / 16", {std::sqrt(variance("16"))}, {1});
    check_printed("variance of q·k / 256", {variance("256")}, {0.004}, 0.001);
    check_equal("two deviations for d_k = 64", {2 * std::sqrt(variance("64"))}, {16});
    check_printed("nearly uniform", plan.read("by 256").vector(), {0.28, 0.24, 0.25, 0.24});
}
