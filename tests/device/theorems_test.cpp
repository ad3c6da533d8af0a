// What the literature proves of attention, and of what goes with it, as identities that the device's numbers have to
// meet: stacked layers that collapse, symmetric scores, bounds of ranks, memory, a step of gradient descent, batch norm
// under padding, positions however far.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "compare_values.h"
#include "runtime/base/at.h"
#include "sheet.h"
#include "vantage/error.h"
#include "vantage/ops.h"
#include "vantage/plan.h"

using namespace vantage;
using namespace vantage::test;

namespace theorems {

namespace {

constexpr std::int64_t n = 24, d = 16;

// A head of the whole width over h [n, d], and its matrix of weights.
struct Head {
    Tensor o, weights, lse;
    Head(Tensor q, Tensor k, Tensor v, const AttentionOptions& options = {}) {
        Graph g = q.graph();
        const auto alone = [&](Tensor x) { return g.reshape(x, {x.shape()[0], 1, x.shape()[1]}); };
        const std::int64_t rows = q.shape()[0], keys = k.shape()[0];
        const AttentionResult result = attention(alone(q), alone(k), alone(v), options);
        o = g.reshape(result.o, {rows, v.shape()[1]});
        lse = result.lse;
        weights = attention_weights(alone(q), alone(k), lse, {.rows = rows, .keys = keys}, options);
    }
};

Tensor matrix(Sheet& sheet, const std::string& name, std::int64_t rows, std::int64_t cols, unsigned seed,
              float deviation = 0.25F) {
    return sheet.input(name, {rows, cols}, normal(rows * cols, seed, deviation));
}

double largest(const Values& x) {
    double most = 0;
    for (const float value : x) most = std::max(most, std::abs(static_cast<double>(value)));
    return most;
}

// Scores from weights and the log-sum-exp of their rows: s_ij = ln p_ij + lse_i.
Values scores_of(const Values& p, const Values& lse) {
    Values scores;
    for (std::size_t i = 0; i < p.size(); ++i) scores.push_back(std::log(p[i]) + lse[i / (p.size() / lse.size())]);
    return scores;
}

// The largest |x_ij - x_ji|.
double asymmetry(const Values& x) {
    const auto size = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(x.size()))));
    double most = 0;
    for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = 0; j < i; ++j)
            most = std::max(most, std::abs(static_cast<double>(x[i * size + j]) - x[j * size + i]));
    return most;
}

// Singular values of a matrix: lengths of its rows after rotations of pairs of them have made all orthogonal, which
// leave Σ row rowᵀ as it is (one-sided Jacobi: Hestenes 1958).
std::vector<double> singular_values(const Values& values, std::size_t cols) {
    std::vector<std::vector<double>> rows(values.size() / cols);
    for (std::size_t i = 0; i < values.size(); ++i) rows[i / cols].push_back(values[i]);
    const auto dot = [](const std::vector<double>& a, const std::vector<double>& b) {
        return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
    };
    bool turned = true;
    for (int sweep = 0; turned && sweep < 60; ++sweep) {
        turned = false;
        for (std::size_t i = 0; i < rows.size(); ++i)
            for (std::size_t j = 0; j < i; ++j) {
                std::vector<double>&a = rows[i], &b = rows[j];
                const double aa = dot(a, a), bb = dot(b, b), ab = dot(a, b);
                if (ab * ab <= 1e-24 * aa * bb) continue;
                turned = true;
                const double angle = 0.5 * std::atan2(2 * ab, bb - aa), c = std::cos(angle), s = std::sin(angle);
                for (std::size_t x = 0; x < cols; ++x)
                    std::tie(a[x], b[x]) = std::pair{c * a[x] - s * b[x], s * a[x] + c * b[x]};
            }
    }
    std::vector<double> lengths;
    for (const std::vector<double>& row : rows) lengths.push_back(std::sqrt(dot(row, row)));
    std::sort(lengths.rbegin(), lengths.rend());
    return lengths;
}

// Numbers of f32, sums of a few dozen products, leave singular values of 1e-6 of the largest where there should be
// none; what is asked for below lies above 1e-3.
std::int64_t rank_of(const Values& values, std::int64_t cols) {
    const std::vector<double> s = singular_values(values, static_cast<std::size_t>(cols));
    return std::count_if(s.begin(), s.end(), [&](double one) { return one > 3e-5 * s[0]; });
}

}  // namespace

// ---- linear collapse ------------------------------------------------------------------------------------------------

// Two layers of attention with nothing between them are one with weights A₂ A₁, whose rows sum to 1, and values V₁ V₂;
// so they are with a feed-forward network without its ReLU. Given A₂ and A₁ such a layer is odd in x; with the ReLU
// f(x) + f(-x) = A₂ |A₁ x V₁ W₁| W₂ V₂ stays.
TEST_CASE("two attention layers without a non-linearity are one, with a ReLU they are not", "[theorems][attention]") {
    Sheet sheet;
    const Tensor x = matrix(sheet, "x", n, d, 1, 1), w1 = matrix(sheet, "w1", d, 4 * d, 2),
                 w2 = matrix(sheet, "w2", 4 * d, d, 3);
    Tensor v[2], a[2];
    const auto layer = [&](int index, Tensor h) {
        const std::string of = std::to_string(index);
        const auto seed = static_cast<unsigned>(10 * index);
        v[index] = matrix(sheet, "v" + of, d, d, seed + 4);
        const Head head(linear(h, matrix(sheet, "q" + of, d, 4, seed + 5)),
                        linear(h, matrix(sheet, "k" + of, d, 4, seed + 6)), linear(h, v[index]));
        a[index] = head.weights;
        return head.o;
    };
    sheet.graph.output("two layers", layer(1, layer(0, x)));
    const Tensor both = matmul(a[1], a[0]);
    sheet.graph.output("one layer", matmul(both, linear(x, matmul(v[0], v[1]))));
    sheet.graph.output("A2 A1", both);
    const auto with = [&](Tensor from, bool active) {  // A₂ FFN(A₁ x V₁) V₂
        const Tensor inner = linear(matmul(a[0], linear(from, v[0])), w1);
        return matmul(a[1], linear(linear(active ? relu(inner) : inner, w2), v[1]));
    };
    sheet.graph.output("two linear layers", with(x, false));
    sheet.graph.output("one linear layer", matmul(both, linear(x, matmul(matmul(v[0], matmul(w1, w2)), v[1]))));
    sheet.graph.output("odd part", with(x, false) + with(scale(x, -1), false));
    sheet.graph.output("even part", with(x, true) + with(scale(x, -1), true));
    const auto got = sheet.run();
    // sums of 16 to 64 products of numbers around 1, in another order
    check_close("collapsed", got.at("two layers"), got.at("one layer"), 2e-6, 2e-6);
    check_close("collapsed with W1 W2", got.at("two linear layers"), got.at("one linear layer"), 5e-6, 5e-6);
    for (std::size_t row = 0; row < n; ++row) {
        double sum = 0;
        for (std::size_t j = 0; j < n; ++j) sum += got.at("A2 A1")[row * n + j];
        CHECK(std::abs(sum - 1) < 1e-5);
    }
    CHECK(*std::min_element(got.at("A2 A1").begin(), got.at("A2 A1").end()) >= 0);
    CHECK(largest(got.at("two layers")) > 0.1);
    CHECK(largest(got.at("odd part")) == 0);
    CHECK(largest(got.at("even part")) > 0.1);
}

// ---- scores of one metric -------------------------------------------------------------------------------------------

TEST_CASE("attention of x to itself is softmax(x xᵀ) x, and tokens of one length attend to themselves most",
          "[theorems][attention]") {
    Sheet sheet;
    const Tensor x = matrix(sheet, "x", n, d, 1, 0.5F), even = rms_norm(x);
    const AttentionOptions raw{.scale = 1};
    sheet.graph.output("attention", Head(x, x, x, raw).o);
    sheet.graph.output("in steps", matmul(softmax(matmul(x, x, {.transpose_b = true})), x));
    sheet.graph.output("of one length", Head(even, even, even, raw).weights);
    const auto got = sheet.run();
    check_close("softmax(x xᵀ) x", got.at("attention"), got.at("in steps"), 2e-6, 2e-6);
    const Values& p = got.at("of one length");  // x_i·x_j < x_i·x_i (Cauchy and Schwarz)
    for (std::int64_t i = 0; i < n; ++i)
        CHECK(std::max_element(p.begin() + i * n, p.begin() + (i + 1) * n) == p.begin() + i * (n + 1));
}

TEST_CASE("queries and keys of one projection have symmetric scores, but not symmetric weights",
          "[theorems][attention]") {
    Sheet sheet;
    const Tensor x = matrix(sheet, "x", n, d, 1, 1), metric = linear_transposed(x, matrix(sheet, "M", 8, d, 2)),
                 other = linear_transposed(x, matrix(sheet, "other", 8, d, 3));
    const Head shared(metric, metric, x), apart(metric, other, x);
    for (const auto& [name, head] : {std::pair{"shared", shared}, {"apart", apart}}) {
        sheet.graph.output(name, head.weights);
        sheet.graph.output(std::string(name) + " lse", head.lse);
    }
    const auto got = sheet.run();
    const Values scores = scores_of(got.at("shared"), got.at("shared lse"));
    CHECK(asymmetry(scores) < 1e-5);  // an exp and a log of scores below 10 and of weights above 1e-6
    CHECK(asymmetry(got.at("shared")) > 0.05);
    CHECK(asymmetry(scores_of(got.at("apart"), got.at("apart lse"))) > 0.5);
    for (std::int64_t i = 0; i < n; ++i)  // |x_iᵀ MᵀM x_j|² ≤ (x_iᵀ MᵀM x_i) (x_jᵀ MᵀM x_j): a metric
        for (std::int64_t j = 0; j < i; ++j)
            CHECK(std::abs(at(scores, i * n + j)) <=
                  std::sqrt(at(scores, i * (n + 1)) * at(scores, j * (n + 1))) + 1e-5F);
}

// ---- ranks ----------------------------------------------------------------------------------------------------------

TEST_CASE("scores have a rank of d_k at most; their softmax has more, its logarithm d_k + 1", "[theorems][attention]") {
    constexpr std::int64_t dk = 4;
    Sheet sheet;
    const Tensor q = matrix(sheet, "q", n, dk, 1, 1), k = matrix(sheet, "k", n, dk, 2, 1),
                 v = matrix(sheet, "v", n, d, 3, 1);
    const Tensor first = Head(q, k, v).weights,
                 second = Head(matrix(sheet, "q2", n, dk, 4, 1), matrix(sheet, "k2", n, dk, 5, 1), v).weights;
    sheet.graph.output("scores", matmul(q, k, {.transpose_b = true}));
    sheet.graph.output("A", first);
    sheet.graph.output("A2 A1", matmul(second, first));
    const auto got = sheet.run();
    const auto logarithm = [](Values p) {
        for (float& one : p) one = std::log(one);
        return p;
    };
    CHECK(rank_of(got.at("scores"), n) == dk);
    CHECK(rank_of(got.at("A"), n) > 2 * dk);
    CHECK(rank_of(logarithm(got.at("A")), n) == dk + 1);  // the log-sum-exp of rows is the one more
    // so the one layer that two collapse into has weights that no head of their width has
    CHECK(rank_of(logarithm(got.at("A2 A1")), n) > 2 * dk);
}

TEST_CASE("the rank of an output is at most that of its weights, of its values and of its width; heads add theirs",
          "[theorems][attention]") {
    constexpr std::int64_t dv = 6;
    Sheet sheet;
    const auto head = [&](unsigned seed, Tensor v) {
        const std::string of = std::to_string(seed);
        return Head(matrix(sheet, "q" + of, n, 8, seed, 1.5F), matrix(sheet, "k" + of, n, 8, seed + 1, 1.5F), v);
    };
    const auto values = [&](unsigned seed) { return matrix(sheet, "v" + std::to_string(seed), n, dv, seed, 1); };
    const auto joined = [&](unsigned seed) {  // under a W_O of its own, as wide as the model
        return linear(head(seed, values(seed + 2)).o, matrix(sheet, "o" + std::to_string(seed), dv, n, seed + 3));
    };
    const Tensor thin = matmul(matrix(sheet, "tall", n, 2, 31, 1), matrix(sheet, "wide", 2, dv, 32, 1)),
                 equal = sheet.input("equal keys", {n, 8}, Values(n * 8, 0.5F));
    const Tensor one = joined(10), sum = one + joined(20) + joined(40);
    const Head blind(matrix(sheet, "q", n, 8, 50, 1), equal, values(51));
    sheet.graph.output("values of rank 2", head(60, thin).o);
    sheet.graph.output("equal keys: weights", blind.weights);
    sheet.graph.output("equal keys: output", blind.o);
    sheet.graph.output("few queries",
                       Head(matrix(sheet, "few", 4, 8, 70, 1.5F), matrix(sheet, "k", n, 8, 71, 1.5F), values(72)).o);
    sheet.graph.output("one head", one);
    sheet.graph.output("three heads", sum);
    const auto got = sheet.run();
    CHECK(rank_of(got.at("values of rank 2"), dv) == 2);
    CHECK(rank_of(got.at("equal keys: weights"), n) == 1);
    CHECK(rank_of(got.at("equal keys: output"), dv) == 1);
    CHECK(rank_of(got.at("few queries"), dv) == 4);  // min(n, d_v), n queries
    CHECK(rank_of(got.at("one head"), n) == dv);
    CHECK(rank_of(got.at("three heads"), n) == 3 * dv);
}

// ---- memory ---------------------------------------------------------------------------------------------------------

TEST_CASE("attention takes memory in proportion to n; its matrices, step by step, to h n²", "[theorems][attention]") {
    constexpr std::int64_t heads = 4;
    const auto arena = [](std::int64_t tokens, bool in_steps) {
        Graph g;
        const auto operand = [&](const char* name) { return g.input(name, {heads, tokens, d}); };
        const Tensor q = operand("q"), k = operand("k"), v = operand("v");
        const Tensor o = in_steps ? matmul(softmax(matmul(q, k, {.transpose_b = true}), -1, 0.25), v)
                                  : attention(q, k, v, {.heads_first = true}).o;
        g.output("y", scale(o, 2));
        return static_cast<double>(compile(g, test_device()).arena_bytes());
    };
    CHECK(arena(1024, false) < 4.4 * arena(256, false));  // 4, and what is rounded up
    CHECK(arena(256, false) > 0);
    CHECK(arena(1024, true) > 15 * arena(256, true));
    CHECK(arena(1024, true) >= heads * 1024 * 1024 * 4);  // f32
}

// ---- attention as gradient descent ----------------------------------------------------------------------------------

namespace {

// Linear regression in context (von Oswald et al. 2022): tokens (x_j, y_j) of the context, and queries (x, 0). The
// loss is 1/(2 N) Σ |W x_j - y_j|², and W starts as 0.
constexpr std::int64_t context = 40, queries = 5, dx = 4, dy = 2, width = dx + dy;

struct Tokens {
    Tensor context, queries;
};

// A layer of linear attention, without a softmax or its denominator: W_Q = W_K keep x, W_V = -y, and what comes out is
// multiplied by η / N and added. It takes ΔW x = η/N Σ_j (y_j - W x_j) x_jᵀ x off every y, if y_j - W x_j are the y
// parts that it finds: then it leaves those of W + ΔW, and queries have -(W + ΔW) x.
Tokens descend(Sheet& sheet, Tokens tokens, Tensor keep_x, Tensor minus_y, double rate) {
    Graph& g = sheet.graph;
    const auto alone = [&](Tensor x) { return g.reshape(x, {context, 1, width}); };
    const Tensor keys = alone(linear(tokens.context, keep_x)), values = alone(linear(tokens.context, minus_y));
    const Tensor sums = g.reshape(linear_attention(keys, keys, values, {.elu = false}).state_kv, {width, width});
    const auto moved = [&](Tensor e) { return e + scale(linear(linear(e, keep_x), sums), rate / context); };
    return {moved(tokens.context), moved(tokens.queries)};
}

using Weights = std::vector<double>;  // [dy, dx]

// A step of gradient descent, on the host.
Weights step(const Weights& w, const Values& x, const Values& y, double rate) {
    Weights next = w;
    for (std::int64_t j = 0; j < context; ++j)
        for (std::int64_t row = 0; row < dy; ++row) {
            double error = at(y, j * dy + row);
            for (std::int64_t i = 0; i < dx; ++i) error -= at(w, row * dx + i) * at(x, j * dx + i);
            for (std::int64_t i = 0; i < dx; ++i) at(next, row * dx + i) += rate / context * error * at(x, j * dx + i);
        }
    return next;
}

// What W says of queries, as the layers hold it: tokens (x, -W x).
Values predicted(const Weights& w, const Values& x) {
    Values tokens;
    for (std::int64_t q = 0; q < queries; ++q) {
        for (std::int64_t i = 0; i < dx; ++i) tokens.push_back(at(x, q * dx + i));
        for (std::int64_t row = 0; row < dy; ++row) {
            double sum = 0;
            for (std::int64_t i = 0; i < dx; ++i) sum += at(w, row * dx + i) * at(x, q * dx + i);
            tokens.push_back(static_cast<float>(-sum));
        }
    }
    return tokens;
}

// Of the tokens, side by side.
Values joined(const Values& x, const Values& y) {
    Values tokens;
    for (std::size_t j = 0; j < x.size() / dx; ++j) {
        for (std::size_t i = 0; i < dx; ++i) tokens.push_back(x[j * dx + i]);
        for (std::size_t i = 0; i < dy; ++i) tokens.push_back(y.empty() ? 0 : y[j * dy + i]);
    }
    return tokens;
}

struct Regression {
    Sheet sheet;
    Values x, y, asked = normal(queries * dx, 3);
    Tensor keep_x, minus_y;
    Tokens start;
    Regression(Values x_, Values y_) : x(std::move(x_)), y(std::move(y_)) {
        Values first(width * width, 0), last(width * width, 0);
        for (std::int64_t i = 0; i < width; ++i) at(i < dx ? first : last, i * (width + 1)) = i < dx ? 1.0F : -1.0F;
        keep_x = sheet.input("keep x", {width, width}, first);
        minus_y = sheet.input("minus y", {width, width}, last);
        start = {sheet.input("context", {context, width}, joined(x, y)),
                 sheet.input("queries", {queries, width}, joined(asked, {}))};
    }
};

}  // namespace

TEST_CASE("a layer of linear attention is a step of gradient descent on its context", "[theorems][attention]") {
    constexpr double rate = 0.8;
    constexpr int layers = 40;
    Regression r(normal(context * dx, 1), normal(context * dy, 2));
    Tokens tokens = r.start;
    for (int layer = 1; layer <= layers; ++layer) {
        tokens = descend(r.sheet, tokens, r.keep_x, r.minus_y, rate);
        r.sheet.graph.output(std::to_string(layer), tokens.queries);
    }
    const Tensor q = linear(r.start.queries, r.keep_x), k = linear(r.start.context, r.keep_x);
    const Tensor change = matmul(matmul(q, k, {.transpose_b = true}), linear(r.start.context, r.minus_y));  // (QKᵀ) V
    r.sheet.graph.output("weights first", r.start.queries + scale(change, rate / context));
    const auto got = r.sheet.run();
    check_close("(Q Kᵀ) V is Q (Kᵀ V)", got.at("1"), got.at("weights first"), 1e-6, 1e-6);
    Weights w(dy * dx, 0), before;
    for (int layer = 1; layer <= layers; ++layer) {
        before = std::exchange(w, step(w, r.x, r.y, rate));
        INFO("layer " << layer);
        check_close("W x", got.at(std::to_string(layer)), predicted(w, r.asked), 5e-6);  // f32 against double
        if (layer < 4) CHECK(largest(predicted(w, r.asked)) > 0.1);
    }
    // rates below 2 / λ descend to the minimum, the least squares: no step changes it
    for (std::size_t i = 0; i < w.size(); ++i) CHECK(std::abs(w[i] - before[i]) < 1e-4);
}

// Features of variance 1 without correlation, XᵀX = N I: the first step, of rate 1, is the last one.
TEST_CASE("for whitened features one layer of linear attention gives the least squares", "[theorems][attention]") {
    const Values rows = hadamard(8);
    Values x, y;
    for (std::size_t j = 0; j < context; ++j)
        x.insert(x.end(), rows.begin() + static_cast<std::ptrdiff_t>(j % 8 * 8 + 1),
                 rows.begin() + static_cast<std::ptrdiff_t>(j % 8 * 8 + 1 + dx));
    y = normal(context * dy, 2);
    Regression r(x, y);
    const Tokens one = descend(r.sheet, r.start, r.keep_x, r.minus_y, 1);
    r.sheet.graph.output("one", one.queries);
    r.sheet.graph.output("two", descend(r.sheet, one, r.keep_x, r.minus_y, 1).queries);
    r.sheet.graph.output("errors", matmul(one.context, r.start.context, {.transpose_a = true}));
    const auto got = r.sheet.run();
    check_close("one step", got.at("one"), predicted(step(Weights(dy * dx, 0), x, y, 1), r.asked), 2e-6);
    check_close("another step", got.at("two"), got.at("one"), 1e-6);
    // normal equations: Σ_j x_j (y_j - W x_j)ᵀ = 0, sums of 40 numbers
    for (std::int64_t i = 0; i < dx; ++i)
        for (std::int64_t row = 0; row < dy; ++row)
            CHECK(std::abs(at(got.at("errors"), (dx + row) * width + i)) < 2e-5F);
}

// exp(±ε s) = 1 ± ε s + …: where keys have the mean 0, the difference of two heads with scores of both signs is a layer
// without a softmax, up to ε².
TEST_CASE("two heads with a softmax take the step of gradient descent, the nearer the smaller their scores",
          "[theorems][attention]") {
    constexpr double rate = 0.8;
    Values x = normal(context * dx, 1);
    for (std::int64_t i = 0; i < dx; ++i) {
        double mean = 0;
        for (std::int64_t j = 0; j < context; ++j) mean += at(x, j * dx + i) / context;
        for (std::int64_t j = 0; j < context; ++j) at(x, j * dx + i) -= static_cast<float>(mean);
    }
    Regression r(x, normal(context * dy, 2));
    const Tensor q = linear(r.start.queries, r.keep_x), k = linear(r.start.context, r.keep_x),
                 v = linear(r.start.context, r.minus_y);
    const std::map<std::string, double> sizes{{"0.04", 0.04}, {"0.02", 0.02}};
    for (const auto& [name, size] : sizes) {
        const AttentionOptions small{.scale = size};
        const Tensor change = Head(q, k, v, small).o - Head(scale(q, -1), k, v, small).o;
        r.sheet.graph.output(name, r.start.queries + scale(change, rate / (2 * size)));
    }
    const auto got = r.sheet.run();
    const Values want = predicted(step(Weights(dy * dx, 0), r.x, r.y, rate), r.asked);
    std::map<std::string, double> errors;
    for (const auto& [name, size] : sizes)
        for (std::size_t i = 0; i < want.size(); ++i)
            errors[name] = std::max(errors[name], std::abs(static_cast<double>(got.at(name)[i]) - want[i]));
    INFO(errors["0.04"] << " and " << errors["0.02"]);
    CHECK(errors["0.02"] < 0.01);
    CHECK(std::abs(errors["0.04"] / errors["0.02"] - 4) < 0.4);
}

// ---- batch norm and padding -----------------------------------------------------------------------------------------

namespace {

BatchNormResult trained(Sheet& sheet, const std::string& name, Tensor x) {  // running statistics become the batch's
    const std::int64_t channels = x.shape()[1];
    const auto running = [&](const char* what) {
        return sheet.input(name + what, {channels}, Values(static_cast<std::size_t>(channels), 0));
    };
    return batch_norm(x, {}, {}, running(" mean"), running(" variance"), {.training = true, .momentum = 1});
}

}  // namespace

// Zeros as padding, a share 1 - p of the rows, turn a mean μ into p μ and a variance σ² into p (σ² + μ²) - p² μ²:
// every token comes out otherwise. Layer norm does not see them.
TEST_CASE("padding changes what batch norm makes of every token, and nothing of layer norm", "[theorems]") {
    constexpr std::int64_t tokens = 38, rows = 60, channels = 5;
    const Values real = normal(tokens * channels, 1, 1, 2);
    Values padded = real;  // the order of rows is nothing to either norm: padding last
    padded.resize(rows * channels, 0);
    Sheet sheet;
    const Tensor x = sheet.input("tokens", {tokens, channels}, real),
                 with = sheet.input("with padding", {rows, channels}, padded);
    const BatchNormResult alone = trained(sheet, "alone", x), among = trained(sheet, "among", with);
    sheet.graph.output("alone", alone.y);
    sheet.graph.output("mean", alone.mean);
    sheet.graph.output("variance", alone.variance);
    sheet.graph.output("among", among.y);
    sheet.graph.output("layer alone", layer_norm(x));
    sheet.graph.output("layer among", layer_norm(with));
    auto got = sheet.run();
    Values expected;
    for (std::size_t i = 0; i < real.size(); ++i) {
        const double mean = got.at("mean")[i % channels], p = static_cast<double>(tokens) / rows,
                     variance = got.at("variance")[i % channels] * (tokens - 1.0) / tokens,
                     moved = p * (variance + mean * mean) - p * p * mean * mean;
        expected.push_back(static_cast<float>((real[i] - p * mean) / std::sqrt(moved + 1e-5)));
    }
    for (const char* name : {"among", "layer among"}) got.at(name).resize(real.size());
    check_close("batch norm among padding", got.at("among"), expected, 5e-6, 5e-6);
    for (std::size_t i = 0; i < real.size(); ++i) CHECK(std::abs(got.at("among")[i] - got.at("alone")[i]) > 1e-3F);
    check_close("layer norm among padding", got.at("layer among"), got.at("layer alone"), 0);
}

TEST_CASE("batch norm's statistics of m rows are off by σ²/m; of one row there are none in training", "[theorems]") {
    constexpr std::int64_t channels = 1024;
    Sheet sheet;
    for (const std::int64_t m : {4, 64}) {
        const std::string name = std::to_string(m);
        sheet.graph.output(name, trained(sheet, name, matrix(sheet, "x" + name, m, channels, 7, 1)).mean);
    }
    Sheet other;
    CHECK_THROWS_AS(trained(other, "alone", matrix(other, "one", 1, channels, 8, 1)), Error);
    const Tensor one = matrix(sheet, "one", 1, channels, 8, 1);
    const auto running = [&](const char* what, float value) {
        return sheet.input(what, {channels}, Values(channels, value));
    };
    sheet.graph.output("one", batch_norm(one, {}, {}, running("mean", 0), running("variance", 1), {.eps = 0}).y);
    const auto got = sheet.run();
    for (const int m : {4, 64})  // the mean square of 1024 means: within 4 √(2/1024)
        CHECK(std::abs(mean_square(got.at(std::to_string(m))) * m - 1) < 0.18);
    check_close("inference", got.at("one"), sheet.floats.at("one"), 1e-6, 1e-6);
}

// ---- positions, however far -----------------------------------------------------------------------------------------

// Angles are made in double, and 1e6 ω is off by 1e-10. In float it would be off by 0.03, which is seen here: what
// remains are roundings of cosines, 6e-8, in sums of d products.
TEST_CASE("rotary positions know the distance alone at positions of a million, too", "[theorems][attention]") {
    constexpr std::int64_t tokens = 16, rotary = 4;
    Sheet sheet;
    const Tensor table = rope_table(sheet.graph, 1'000'000 + tokens, rotary, 10000);
    const auto operand = [&](const char* name, unsigned seed) {
        return sheet.input(name, {tokens, 1, d}, normal(tokens * d, seed));
    };
    const Tensor q = operand("q", 1), k = operand("k", 2), v = operand("v", 3);
    const auto attended = [&](std::int32_t first, std::int32_t later) {  // keys sit `later` than their queries
        std::vector<std::int32_t> mine, theirs;
        for (std::int32_t i = 0; i < tokens; ++i) mine.push_back(first + i), theirs.push_back(first + later + i);
        const std::string name = std::to_string(first) + "+" + std::to_string(later);
        const auto turned = [&](Tensor x, const std::string& what, const std::vector<std::int32_t>& positions) {
            return rope(x, table, {.positions = sheet.input(name + what, {tokens}, positions)});
        };
        sheet.graph.output(name, attention(turned(q, " q", mine), turned(k, " k", theirs), v, {.scale = 1}).o);
    };
    for (const std::int32_t first : {0, 100'000, 999'999}) attended(first, 0);
    attended(0, 1);
    const auto got = sheet.run();
    CHECK(largest(got.at("0+0")) > 1);
    for (const char* far : {"100000+0", "999999+0"}) check_close(far, got.at(far), got.at("0+0"), 1e-5);
    double moved = 0;
    for (std::size_t i = 0; i < got.at("0+0").size(); ++i)
        moved = std::max(moved, std::abs(static_cast<double>(got.at("0+0")[i]) - got.at("0+1")[i]));
    CHECK(moved > 0.1);
}

TEST_CASE("products of sinusoids know the distance alone at positions of a million, too", "[theorems]") {
    constexpr std::int64_t tokens = 16, dim = 4;
    Sheet sheet;
    const Tensor table = sinusoidal_positions(sheet.graph, 1'000'000 + tokens, dim),
                 nothing = sheet.input("embeddings", {1, dim}, Values(dim, 0)),
                 ids = sheet.input("ids", {tokens}, std::vector<std::int32_t>(tokens, 0));
    const std::vector<std::int64_t> starts{0, 100'000, 1'000'000};
    for (const std::int64_t first : starts) {
        const Tensor pe = embedding(ids, nothing, table, {.position_offset = first});
        sheet.graph.output("PE " + std::to_string(first), pe);
        sheet.graph.output(std::to_string(first), matmul(pe, pe, {.transpose_b = true}));
    }
    const auto got = sheet.run();
    for (const std::int64_t first : starts) {
        const std::string name = std::to_string(first);
        check_close(name, got.at(name), got.at("0"), 1e-6);
        CHECK(largest(got.at("PE " + name)) <= 1);
        CHECK(largest(got.at("PE " + name)) > 0.9);
    }
    for (std::int64_t k = 0; k < tokens; ++k)  // PE(p)·PE(p + k) = Σ cos k ω
        CHECK(std::abs(at(got.at("1000000"), k) -
                       (std::cos(static_cast<double>(k)) + std::cos(0.01 * static_cast<double>(k)))) < 1e-6);
}

}  // namespace theorems
