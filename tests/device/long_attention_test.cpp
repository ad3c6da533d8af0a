// Attention over many keys: shared out between workgroups, read back through the tap, shifted, and collapsed.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "runtime/base/at.h"
#include "sheet.h"
#include "test_device.h"
#include "vantage/ops.h"
#include "vantage/plan.h"

using namespace vantage;
using namespace vantage::test;

namespace {

struct Sizes {
    std::int64_t n = 24, m = 24, heads = 4, kv_heads = 2, d = 16, dv = 16;
};

struct Inputs {
    std::vector<float> q, k, v;
    explicit Inputs(const Sizes& s, unsigned seed = 1)
        : q(normal(s.n * s.heads * s.d, seed)),
          k(normal(s.m * s.kv_heads * s.d, seed + 1)),
          v(normal(s.m * s.kv_heads * s.dv, seed + 2)) {}
};

struct Result {
    std::vector<float> o, lse;
};

Result attend(const Sizes& s, const Inputs& in, bool causal, const std::string& kernel = {}, double scale = 0) {
    Graph g;
    const AttentionResult r = attention(g.input("q", {s.n, s.heads, s.d}), g.input("k", {s.m, s.kv_heads, s.d}),
                                        g.input("v", {s.m, s.kv_heads, s.dv}),
                                        {.causal = causal, .scale = scale > 0 ? std::optional(scale) : std::nullopt});
    g.output("o", r.o);
    g.output("lse", r.lse);
    Plan plan(std::move(g), test_device(), {.guard = true, .kernel = kernel});
    plan.write("q", in.q);
    plan.write("k", in.k);
    plan.write("v", in.v);
    plan.run();
    return {plan.read("o").vector(), plan.read("lse").vector()};
}

// All weights of one head, [n, m].
std::vector<float> weights_of(const Sizes& s, const Inputs& in, const std::vector<float>& lse, std::int64_t head,
                              bool causal) {
    Graph g;
    g.output("p",
             attention_weights(g.input("q", {s.n, s.heads, s.d}), g.input("k", {s.m, s.kv_heads, s.d}),
                               g.input("lse", {s.n, s.heads}),
                               {.head = head, .rows = s.n, .keys = s.m, .position = s.m - s.n}, {.causal = causal}));
    Plan plan(std::move(g), test_device());
    plan.write("q", in.q);
    plan.write("k", in.k);
    plan.write("lse", lse);
    plan.run();
    return plan.read("p").vector();
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
    REQUIRE(a.size() == b.size());
    double worst = 0;
    for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, static_cast<double>(std::abs(a[i] - b[i])));
    return worst;
}

}  // namespace

TEST_CASE("a constant added to every score changes nothing but the log-sum-exp", "[properties]") {
    // q gets a last feature of 1, k one of c: every score grows by c
    const Sizes s{.heads = 2, .kv_heads = 2, .d = 8, .dv = 8};
    Inputs in(s, 41);
    Inputs shifted = in;
    const double c = 40;
    for (std::size_t i = 7; i < in.q.size(); i += 8) in.q[i] = shifted.q[i] = 1;
    for (std::size_t i = 7; i < in.k.size(); i += 8) in.k[i] = 0, shifted.k[i] = static_cast<float>(c);
    const Result a = attend(s, in, true, {}, 1), b = attend(s, shifted, true, {}, 1);
    CHECK(largest_difference(a.o, b.o) < 2e-5);
    for (std::size_t i = 0; i < a.lse.size(); ++i) CHECK(std::abs(b.lse[i] - a.lse[i] - c) < 1e-4);
}

TEST_CASE("equal keys give the mean of the values: attention collapses to a linear map", "[properties]") {
    const Sizes s{.n = 5, .m = 9, .heads = 1, .kv_heads = 1, .d = 24, .dv = 32};
    Inputs in(s, 51);
    std::fill(in.k.begin(), in.k.end(), 0.25f);
    const Result r = attend(s, in, false);
    for (std::int64_t i = 0; i < s.n; ++i)
        for (std::int64_t d = 0; d < s.dv; ++d) {
            double mean = 0;
            for (std::int64_t j = 0; j < s.m; ++j) mean += at(in.v, j * s.dv + d) / static_cast<double>(s.m);
            CHECK(std::abs(at(r.o, i * s.dv + d) - mean) < 1e-5);
        }
}

TEST_CASE("sharing out the keys changes nothing", "[properties][subgroup]") {
    const Sizes s{.n = 2, .m = 1100, .heads = 4, .kv_heads = 2, .d = 24, .dv = 24};
    const Inputs in(s, 71);
    const Result whole = attend(s, in, true, "plain");
    for (const char* kernel : {"split", "split_subgroup", "subgroup"}) {
        INFO(kernel);
        const Result r = attend(s, in, true, kernel);
        CHECK(largest_difference(whole.o, r.o) < 1e-5);
        CHECK(largest_difference(whole.lse, r.lse) < 1e-5);
    }
}

// lavapipe before Mesa 25 leaves loops after 65535 iterations: with more than 8 queries nothing shared out the keys.
TEST_CASE("a prompt sees all of many keys, whichever kernel it takes", "[properties][subgroup]") {
    using Size = std::pair<std::int64_t, std::int64_t>;
    const auto [m, width] = GENERATE(Size{24576, 8}, Size{2048, 511}, Size{4096, 24}, Size{1536, 64}, Size{768, 128});
    CAPTURE(m, width);
    const Sizes s{.n = 9, .m = m, .heads = 2, .kv_heads = 1, .d = width, .dv = width};
    Inputs in(s, 91);
    std::ranges::fill(in.q, 0.0F);  // equal scores: each key counts once
    for (std::int64_t j = 0; j < s.m; ++j)
        for (std::int64_t d = 0; d < s.dv; ++d)
            at(in.v, j * s.dv + d) = static_cast<float>(j) / static_cast<float>(s.m - 1);
    for (const char* kernel : {"", "plain", "subgroup", "cpu_simd"}) {
        CAPTURE(kernel);
        const Result r = attend(s, in, false, kernel);
        for (const float lse : r.lse) CHECK(std::abs(static_cast<double>(lse) - std::log(s.m)) < 1e-5);
        for (const float o : r.o) CHECK(std::abs(o - 0.5F) < 1e-4F);  // the mean of all values
    }
}

TEST_CASE("hard attention to many keys is right, or refused where loops end early", "[properties]") {
    const std::int64_t m = 40000;
    Graph g;
    const Tensor q = g.input("q", {1, 1, 128}), k = g.input("k", {m, 1, 128}), v = g.input("v", {m, 1, 128});
    g.output("o", attention(q, k, v, {.hard = true}).o);
    try {
        Plan plan(std::move(g), test_device());
        plan.fill("q", 0);
        plan.fill("k", 0);
        plan.fill("v", 1);
        plan.run();
        for (const float o : plan.read("o").vector()) CHECK(o == 1);
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::unsupported);
        CHECK(test_device().caps().ends_long_loops());
    }
}

TEST_CASE("the tap is exact at 32 768 keys", "[properties]") {
    const Sizes s{.n = 2, .m = 32768, .heads = 2, .kv_heads = 1, .d = 24, .dv = 24};
    Inputs in(s, 81);
    for (std::int64_t d = 0; d < s.d; ++d)
        at(in.k, 20000 * s.d + d) = at(in.q, s.d + d) * 2;  // a needle for head 1, row 0
    const Result r = attend(s, in, true);
    const std::vector<float> p = weights_of(s, in, r.lse, 1, true);
    for (std::int64_t row = 0; row < s.n; ++row) {
        const double sum = std::accumulate(p.begin() + row * s.m, p.begin() + (row + 1) * s.m, 0.0);
        CHECK(std::abs(sum - 1) < 1e-4);  // 32 768 rounded weights
    }
    CHECK(std::max_element(p.begin(), p.begin() + s.m) - p.begin() == 20000);
    // the weights give the output back
    for (std::int64_t d = 0; d < s.dv; ++d) {
        double o = 0;
        for (std::int64_t j = 0; j < s.m; ++j) o += static_cast<double>(at(p, j)) * at(in.v, j * s.dv + d);
        CHECK(std::abs(o - r.o[static_cast<std::size_t>(s.dv + d)]) < 1e-4);
    }
}
