// Attention said in two ways is one attention: heads that share keys, heads that are summed, features instead of a
// softmax; and what the kernel says of its own rows and of its own work.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "runtime/base/at.h"
#include "runtime/graph/op_def.h"
#include "runtime/ops/attention.h"
#include "runtime/ops/attention_rules.h"
#include "runtime/ops/linear_attention.h"
#include "sheet.h"

using namespace vantage;
using namespace vantage::test;

namespace attention_forms {

namespace {

constexpr std::int64_t heads = 3, width = 24;

void check_close(const Values& got, const Values& want, double allowed) {
    REQUIRE(got.size() == want.size());
    double worst = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        const double error = std::abs(static_cast<double>(got[i]) - static_cast<double>(want[i]));
        worst = error <= worst ? worst : error;
        if (std::isnan(worst)) break;  // the next comparison would forget it
    }
    CHECK(worst <= allowed);
}

Values part_of(const Values& x, std::size_t each, std::size_t first, std::size_t count) {
    Values part;
    for (std::size_t row = 0; row < x.size() / each; ++row)
        for (std::size_t i = 0; i < count; ++i) part.push_back(x[row * each + first + i]);
    return part;
}

struct Heads {
    Tensor q, k, v;
    Heads(Sheet& sheet, std::int64_t n, std::int64_t m, std::int64_t kv_heads)
        : q(sheet.input("q", {n, heads, width}, normal(n * heads * width, 1))),
          k(sheet.input("k", {m, kv_heads, width}, normal(m * kv_heads * width, 2))),
          v(sheet.input("v", {m, kv_heads, width}, normal(m * kv_heads * width, 3))) {}
};

}  // namespace

// ---- heads ----------------------------------------------------------------------------------------------------------

TEST_CASE("heads that share keys are heads with copies of them", "[properties][attention]") {
    constexpr std::int64_t n = 40;
    Sheet sheet;
    const Heads shared(sheet, n, n, 1);
    const auto copies = [&](const char* of) {
        Values all;
        for (std::size_t i = 0; i < n; ++i)
            for (std::int64_t h = 0; h < heads; ++h)
                all.insert(all.end(), sheet.floats.at(of).begin() + static_cast<std::ptrdiff_t>(i * width),
                           sheet.floats.at(of).begin() + static_cast<std::ptrdiff_t>((i + 1) * width));
        return sheet.input(std::string("copies of ") + of, {n, heads, width}, all);
    };
    sheet.graph.output("shared", attention(shared.q, shared.k, shared.v, {.causal = true}).o);
    sheet.graph.output("apart", attention(shared.q, copies("k"), copies("v"), {.causal = true}).o);
    const auto got = sheet.run();
    check_close(got.at("shared"), got.at("apart"), 1e-6);  // only the order of a workgroup's rows differs
}

TEST_CASE("heads joined by a sum of their own projections are heads side by side under the stacked one",
          "[properties][attention]") {
    constexpr std::int64_t n = 40, out = 20;
    Sheet sheet;
    const Heads all(sheet, n, n, heads);
    const Values stacked = normal(heads * width * out, 4, 0.1F);  // [heads width, out]
    const Tensor side_by_side =
        sheet.graph.reshape(attention(all.q, all.k, all.v, {.causal = true}).o, {n, heads * width});
    sheet.graph.output("joined", linear(side_by_side, sheet.input("W_O", {heads * width, out}, stacked)));
    Tensor sum;
    for (std::int64_t h = 0; h < heads; ++h) {
        const auto mine = [&](const char* of) {
            return sheet.input(of + std::to_string(h), {n, 1, width},
                               part_of(sheet.floats.at(of), heads * width, static_cast<std::size_t>(h * width), width));
        };
        const Tensor o = attention(mine("q"), mine("k"), mine("v"), {.causal = true}).o;
        const Values own(stacked.begin() + h * width * out, stacked.begin() + (h + 1) * width * out);
        const Tensor term =
            linear(sheet.graph.reshape(o, {n, width}), sheet.input("W" + std::to_string(h), {width, out}, own));
        sum = sum ? sum + term : term;
    }
    sheet.graph.output("summed", sum);
    const auto got = sheet.run();
    check_close(got.at("summed"), got.at("joined"), 5e-6);  // sums of 72 products in another order
}

TEST_CASE("cross-attention of a sequence with itself is its self-attention", "[properties][attention]") {
    constexpr std::int64_t n = 40, dim = 30;
    Sheet sheet;
    const Values text = normal(n * dim, 1);
    const Tensor x = sheet.input("x", {n, dim}, text), memory = sheet.input("memory", {n, dim}, text);
    std::map<std::string, Tensor> w;
    for (const char* name : {"wq", "wk", "wv"})
        w[name] =
            sheet.input(name, {heads * width, dim}, normal(heads * width * dim, static_cast<unsigned>(name[1]), 0.3F));
    const auto projected = [&](const char* name, Tensor from) {
        return sheet.graph.reshape(linear_transposed(from, w.at(name)), {n, heads, width});
    };
    const Tensor q = projected("wq", x);
    sheet.graph.output("self", attention(q, projected("wk", x), projected("wv", x)).o);
    sheet.graph.output("cross", attention(q, projected("wk", memory), projected("wv", memory)).o);
    const auto got = sheet.run();
    CHECK(got.at("self") == got.at("cross"));
}

// ---- what a row's weights are like ----------------------------------------------------------------------------------

TEST_CASE("the entropy of equal weights is the logarithm of their number", "[properties][attention]") {
    const std::string kernel = GENERATE("", "split", "plain");
    const std::int64_t n = 3, m = 600;
    Sheet sheet;
    Heads all(sheet, n, m, 1);
    const Tensor none = sheet.input("zeros", {n, heads, width}, Values(n * heads * width, 0));
    const AttentionResult even = attention(none, all.k, all.v, {.causal = true, .statistics = true}),
                          sharp = attention(all.q, all.k, all.v, {.causal = true, .scale = 1e4, .statistics = true});
    for (const auto& [name, result] : {std::pair{"even", even}, {"sharp", sharp}}) {
        sheet.graph.output(std::string(name) + " entropy", result.entropy);
        sheet.graph.output(std::string(name) + " largest", result.largest);
    }
    auto got = sheet.run(kernel);
    for (std::size_t row = 0; row < n * heads; ++row) {
        const double keys = static_cast<double>(m - n + 1) + std::floor(static_cast<double>(row) / heads);
        CHECK(std::abs(got.at("even entropy")[row] - std::log(keys)) < 1e-5);
        CHECK(std::abs(got.at("even largest")[row] * keys - 1) < 1e-5);
        CHECK(std::abs(got.at("sharp entropy")[row]) < 1e-5);  // scores of normal numbers times 1e4: one key takes all
        CHECK(std::abs(got.at("sharp largest")[row] - 1) < 1e-5);
    }
}

TEST_CASE("entropies and largest weights are those of the tap's weights", "[properties][attention]") {
    constexpr std::int64_t n = 50;
    Sheet sheet;
    const Heads all(sheet, n, n, 1);
    AttentionOptions options{.causal = true, .scale = 1, .statistics = true, .window_left = 20, .global_tokens = 2};
    options.sinks = sheet.input("sinks", {heads}, Values{0.5F, 3, -1});
    const AttentionResult result = attention(all.q, all.k, all.v, options);
    const Tensor p = attention_weights(all.q, all.k, result.lse, {.head = 1, .rows = n, .keys = n}, options);
    sheet.graph.output("entropy", result.entropy);
    sheet.graph.output("largest", result.largest);
    sheet.graph.output("p", p);
    sheet.graph.output("of p", entropy(p));
    const auto got = sheet.run();
    for (std::size_t i = 0; i < n; ++i) {
        CHECK(std::abs(got.at("entropy")[i * heads + 1] - got.at("of p")[i]) < 2e-5F);
        const auto row = got.at("p").begin() + static_cast<std::ptrdiff_t>(i * n);
        CHECK(std::abs(got.at("largest")[i * heads + 1] - *std::max_element(row, row + n)) < 1e-5F);
    }
}

// ---- attention without a softmax ------------------------------------------------------------------------------------

TEST_CASE("linear attention is the mean of the values by the weights that its tap shows", "[properties][attention]") {
    constexpr std::int64_t n = 150, dv = 8;
    const bool causal = GENERATE(false, true);
    Sheet sheet;
    const Tensor q = sheet.input("q", {n, 2, width}, normal(n * 2 * width, 1)),
                 k = sheet.input("k", {n, 2, width}, normal(n * 2 * width, 2)),
                 v = sheet.input("v", {n, 2, dv}, normal(n * 2 * dv, 3));
    const LinearAttentionResult result = linear_attention(q, k, v, {.causal = causal});
    sheet.graph.output("o", result.o);
    sheet.graph.output(
        "p", linear_attention_weights(q, k, result.lse, {.head = 1, .rows = n, .keys = n}, {.causal = causal}));
    const auto got = sheet.run();
    const Values &p = got.at("p"), &values = sheet.floats.at("v");
    for (std::size_t i = 0; i < n; ++i) {
        double sum = 0, means[dv] = {};
        for (std::size_t j = 0; j < n; ++j) {
            const auto weight = static_cast<double>(p[i * n + j]);
            CHECK((weight > 0) == (!causal || j <= i));
            sum += weight;
            for (std::size_t d = 0; d < dv; ++d) means[d] += weight * static_cast<double>(values[(j * 2 + 1) * dv + d]);
        }
        CHECK(std::abs(sum - 1) < 1e-5);
        for (std::size_t d = 0; d < dv; ++d)
            CHECK(std::abs(static_cast<double>(got.at("o")[(i * 2 + 1) * dv + d]) - means[d]) < 1e-5);
    }
}

namespace {

// Root mean square difference between softmax attention and Performer's with so many features.
double performer_error(std::int64_t features, bool causal, bool heads_first) {
    constexpr std::int64_t n = 40, dv = 8, d = 16;
    const auto shape = [&](std::int64_t each) { return heads_first ? Shape{2, n, each} : Shape{n, 2, each}; };
    Sheet sheet;
    const Tensor q = sheet.input("q", shape(d), normal(n * 2 * d, 1, 0.5F)),
                 k = sheet.input("k", shape(d), normal(n * 2 * d, 2, 0.5F)),
                 v = sheet.input("v", shape(dv), normal(n * 2 * dv, 3));
    const PerformerFeatures f = performer_features(q, k, {.features = features, .seed = 9, .heads_first = heads_first});
    sheet.graph.output("o",
                       linear_attention(f.q, f.k, v, {.causal = causal, .heads_first = heads_first, .elu = false}).o);
    sheet.graph.output("softmax", attention(q, k, v, {.causal = causal, .heads_first = heads_first}).o);
    const auto got = sheet.run();
    double sum = 0;
    for (std::size_t i = 0; i < got.at("o").size(); ++i) {
        const double error = static_cast<double>(got.at("o")[i]) - static_cast<double>(got.at("softmax")[i]);
        sum += error * error;
    }
    return std::sqrt(sum / static_cast<double>(got.at("o").size()));
}

}  // namespace

TEST_CASE("Performer comes nearer to softmax attention with more features", "[properties][attention]") {
    // like 1/√m: 32 times the features, a sixth of the error; a third of it is asked for
    for (const bool causal : {false, true}) {
        const double few = performer_error(8, causal, false), many = performer_error(256, causal, false);
        INFO(few << " with 8 features, " << many << " with 256");
        CHECK(many < few / 3);
        CHECK(many < 0.05);
    }
    CHECK(performer_error(256, false, true) < 0.05);
}

TEST_CASE("Performer's features are what their definition says, but for what falls out", "[properties][attention]") {
    constexpr std::int64_t n = 12, d = 16, m = 8;
    Sheet sheet;
    const Tensor q = sheet.input("q", {n, 2, d}, normal(n * 2 * d, 1)),
                 k = sheet.input("k", {n, 2, d}, normal(n * 2 * d, 2));
    const PerformerFeatures f = performer_features(q, k, {.features = m, .seed = 9, .scale = 0.25});
    sheet.graph.output("of q", f.q);
    sheet.graph.output("of k", f.k);
    const Values w = performer_projection(m, d, 9);
    const auto logarithm = [&](const std::string& of, std::size_t row, std::size_t r) {  // ln φ of x / 2
        const float* x = &sheet.floats.at(of)[row * d];
        const double along = std::inner_product(x, x + d, &w[r * d], 0.0),
                     square = std::inner_product(x, x + d, x, 0.0);
        return along / 2 - square / 8;
    };
    const auto got = sheet.run();
    // the logarithm of a feature's ratio to feature 0 of row `from`, against the definition's
    const auto error = [&](const std::string& of, std::size_t row, std::size_t r, std::size_t from) {
        const Values& all = got.at("of " + of);
        const double ratio = std::log(static_cast<double>(all[row * m + r]) / static_cast<double>(all[from * m]));
        return std::abs(ratio - (logarithm(of, row, r) - logarithm(of, from, 0)));
    };
    for (std::size_t row = 0; row < n * 2; ++row)
        for (std::size_t r = 0; r < m; ++r) {
            CHECK(error("q", row, r, row) < 2e-5);      // a query's
            CHECK(error("k", row, r, row % 2) < 2e-5);  // those of all keys of a head
        }
}

TEST_CASE("hard attention gives the value of the key with the largest score, the first of equal ones",
          "[properties][attention]") {
    const bool causal = GENERATE(false, true);
    const std::int64_t n = 37, m = 70, kv_heads = 1;
    Sheet sheet;
    Values k = normal(m * kv_heads * width, 2);
    std::copy_n(k.begin() + 3 * width, width, k.begin() + 9 * width);  // keys 3 and 9 are equal, their values are not
    const Values q = normal(n * heads * width, 1), v = normal(m * kv_heads * width, 3);
    sheet.graph.output("o", attention(sheet.input("q", {n, heads, width}, q), sheet.input("k", {m, kv_heads, width}, k),
                                      sheet.input("v", {m, kv_heads, width}, v), {.causal = causal, .hard = true})
                                .o);
    const Values got = sheet.run().at("o");
    int ties = 0;
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t h = 0; h < heads; ++h) {
            std::vector<double> scores;  // queries end at the last key
            for (std::int64_t j = 0; j < (causal ? i + m - n + 1 : m); ++j)
                scores.push_back(std::inner_product(&at(q, (i * heads + h) * width),
                                                    &at(q, (i * heads + h) * width) + width, &at(k, j * width), 0.0));
            const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
            ties += best == 3;
            const Values row = part_of(got, got.size(), static_cast<std::size_t>((i * heads + h) * width), width);
            CHECK(row == part_of(v, v.size(), static_cast<std::size_t>(best * width), width));
        }
    CHECK(ties > 0);  // the first of equal keys was chosen somewhere
}

TEST_CASE("hard attention keeps scores that are no numbers", "[properties][attention]") {
    constexpr std::int64_t n = 6;
    Sheet sheet;
    Values q = normal(n * heads * width, 1), k = normal(n * heads * width, 2);
    q[5] = std::nanf("");                                                  // of query 0, head 0
    k[static_cast<std::size_t>((4 * heads + 1) * width)] = std::nanf("");  // of key 4, head 1: queries 4 and 5 see it
    const AttentionResult result =
        attention(sheet.input("q", {n, heads, width}, q), sheet.input("k", {n, heads, width}, k),
                  sheet.input("v", {n, heads, width}, normal(n * heads * width, 3)), {.causal = true, .hard = true});
    sheet.graph.output("o", result.o), sheet.graph.output("lse", result.lse);
    const auto got = sheet.run();
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t h = 0; h < heads; ++h) {
            const bool broken = (i == 0 && h == 0) || (i >= 4 && h == 1);
            INFO("query " << i << ", head " << h);
            CHECK(std::isnan(at(got.at("lse"), i * heads + h)) == broken);
            for (std::int64_t d = 0; d < width; ++d)
                CHECK(std::isnan(at(got.at("o"), (i * heads + h) * width + d)) == broken);
        }
}

// ---- work -----------------------------------------------------------------------------------------------------------

namespace {

// Keys that the kernel scored, over all rows: counted by the kernel itself, tile by tile, as it visits them. Its
// log-sum-exps are then logarithms of those numbers.
double keys_scored(std::int64_t n, Attrs attrs, std::int64_t block = 0, bool masked = false,
                   const std::string& kernel = {}, const std::vector<std::int32_t>& table = {}) {
    Sheet sheet;
    const auto part = [&](const char* name) { return sheet.input(name, {n, 1, width}, normal(n * width, 1)); };
    std::vector<Tensor> operands = {part("q"), part("k"), part("v"), {}, {}, {}, {}, {}, {}, {}};
    if (masked) {  // the same window, as numbers that hide what is outside
        Values mask(static_cast<std::size_t>(n * n), -1e30F);
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = std::max<std::int64_t>(0, i - 15); j <= i; ++j) at(mask, i * n + j) = 0;
        operands[5] = sheet.input("mask", {n, n}, mask);
    }
    if (block > 0) {
        attrs.set("block_size", block);
        const BigBirdOptions drawn{.global = 1, .window = 3, .random = 1};
        operands[7] =
            sheet.input("blocks", {n / block, n / block}, table.empty() ? bigbird_block_mask(n / block, drawn) : table);
    }
    attrs.set("counts", true);
    sheet.graph.output("counts", add_call(sheet.graph, attention_op, operands, attrs, SourceLocation::here())[1]);
    const Values counts = sheet.run(kernel).at("counts");
    return std::accumulate(counts.begin(), counts.end(), 0.0,
                           [](double sum, float x) { return sum + std::round(std::exp(x)); });
}

}  // namespace

TEST_CASE("the keys that the kernel scores grow with n under a window or a block mask, with its square without",
          "[attention][cost]") {
    using I = std::int64_t;
    constexpr std::int64_t n = 512;
    const Attrs window{{"causal", true}, {"window_left", I{15}}},
        longformer{{"window_left", I{8}}, {"window_right", I{8}}, {"global_tokens", I{2}}};
    const auto growth = [](const Attrs& attrs, std::int64_t block = 0) {
        return keys_scored(4 * n, attrs, block) / keys_scored(n, attrs, block);
    };
    // The first tokens see less, and tiles are whole: of 64 rows and keys on GPUs, 4.2. Without a window it is 16.
    CHECK(std::abs(growth(window) - 4) < 1);
    CHECK(std::abs(growth(longformer) - 4) < 1);
    CHECK(growth({}, 16) < 6);  // one global block of 32, then of 128, is seen by all and sees all
    CHECK(keys_scored(n, {}) == n * n);
    CHECK(keys_scored(2 * n, {}) == 4 * n * n);
    CHECK(keys_scored(n, window) < 0.5 * keys_scored(n, {}));
    CHECK(keys_scored(n, {}, 0, true) == n * n);  // what only masks is found out
}

TEST_CASE("the keys that BigBird's model scores are those that its blocks see", "[attention][cost]") {
    constexpr std::int64_t block = 64;  // as wide as the widest tile
    const auto scored = [](std::int64_t blocks) {
        Graph graph;
        const Tensor table = graph.state("table", {1, blocks, blocks}, DType::i32),
                     step = graph.input("step", {Step::size}, DType::u32);
        graph.output("counts", bigbird_blocks(table, step, block, 1));
        Plan plan(std::move(graph), test_device());
        plan.write("step", Step{.valid = blocks * block}.words());  // a text that fills all blocks
        plan.run();
        const Values counts = plan.read("counts").vector();
        return keys_scored(blocks * block, {}, block, false, "plain", {counts.begin(), counts.end()});
    };
    // the first and the last block see all 8; of the others one sees 4, one 4, and 4 see 5, whatever the count of block 0
    CHECK(scored(8) == (2 * 8 + 2 * 4 + 4 * 5) * block * block);
    CHECK(scored(16) == (2 * 16 + 2 * 4 + 12 * 5) * block * block);
}

TEST_CASE("dilation and strides walk the keys that are seen, and no others", "[attention][cost]") {
    using I = std::int64_t;
    constexpr I n = 256;
    const std::string kernel = GENERATE("plain", "cpu_simd");  // where it does not fit, another one is taken
    const auto growth = [&](const auto& attrs) {
        return keys_scored(4 * n, attrs(4 * n), 0, false, kernel) / keys_scored(n, attrs(n), 0, false, kernel);
    };
    const auto root = [](I rows) { return static_cast<I>(std::sqrt(static_cast<double>(rows))); };
    // of 4 n keys each query sees twice as many as of n: 8 times the work; tiles are whole
    CHECK(growth([&](I rows) {
              return Attrs{{"causal", true}, {"window_left", root(rows)}, {"stride", root(rows)}};
          }) < 10);
    CHECK(growth([&](I rows) { return Attrs{{"causal", true}, {"stride", root(rows)}, {"summary_keys", I{1}}}; }) < 10);
    CHECK(growth([&](I rows) { return Attrs{{"dilation", root(rows)}}; }) < 10);
    CHECK(std::abs(growth([](I) {
                       return Attrs{{"window_left", I{31}}, {"window_right", I{31}}, {"dilation", I{4}}};
                   }) -
                   4) < 0.6);
    CHECK(keys_scored(n, {{"dilation", I{8}}}, 0, false, kernel) == static_cast<double>(n * n) / 8);
    // kernels of matrix units, of whole tiles, may take the place of cpu_simd: with global tokens they score all keys
    CHECK(keys_scored(n, {{"dilation", I{8}}, {"global_tokens", I{8}}}, 0, false, "plain") <
          static_cast<double>(n * n) / 2);
}

TEST_CASE("keys of other residue classes are not even read", "[attention]") {
    // A NaN that is read, if only to be multiplied with a weight of 0, is in the result.
    constexpr std::int64_t n = 210, step = 6, others = 1, wrong = 48;
    const std::string kernel = GENERATE("", "split", "plain", "cpu_simd");
    Values k = normal(n * width, 1), v = normal(n * width, 2);
    for (std::int64_t j = others; j < wrong; j += step)
        for (std::int64_t d = 0; d < width; ++d) at(k, j * width + d) = at(v, j * width + d) = std::nanf("");
    Sheet sheet;
    const Tensor q = sheet.input("q", {n, 1, width}, normal(n * width, 3)), keys = sheet.input("k", {n, 1, width}, k),
                 values = sheet.input("v", {n, 1, width}, v);
    sheet.graph.output("dilated", attention(q, keys, values, {.causal = true, .dilation = step}).o);
    sheet.graph.output(
        "fixed", attention(q, keys, values, {.causal = true, .stride = step, .summary_keys = step - others - 1}).o);
    const auto got = sheet.run(kernel);
    for (std::int64_t i = 0; i < n; ++i) CHECK(std::isnan(at(got.at("dilated"), i * width)) == (i % step == others));
    // The last keys of each block are seen by all, the key in front of them by its own block and its neighbours' tiles:
    // of up to 64 keys, the widest subgroup.
    for (std::int64_t i = 128; i < n; ++i) CHECK(std::isfinite(at(got.at("fixed"), i * width)));
}

TEST_CASE("the keys that attention's cost counts are those that its rules show", "[attention][cost]") {
    using I = std::int64_t;
    for (const Attrs& attrs :
         {Attrs{{"causal", true}, {"window_left", I{5}}}, Attrs{{"dilation", I{3}}, {"global_tokens", I{4}}},
          Attrs{{"window_left", I{9}}, {"window_right", I{4}}, {"dilation", I{2}}, {"stride", I{3}}},
          Attrs{{"causal", true}, {"window_left", I{6}}, {"stride", I{7}}, {"prefix_len", I{5}}},
          Attrs{{"stride", I{8}}, {"summary_keys", I{3}}, {"global_tokens", I{11}}},
          Attrs{{"causal", true}, {"stride", I{8}}, {"summary_keys", I{8}}}}) {
        const AttentionRules rules(attrs);
        for (I i = -4; i < 40; ++i)
            for (I m : {0, 1, 23, 40}) {
                double seen = 0;
                for (I j = 0; j < m; ++j) seen += rules.sees(i, j) ? 1 : 0;
                CHECK(rules.keys_seen(i, m) == seen);
            }
    }
}

TEST_CASE("the keys that linear attention looks at grow with n", "[attention][cost]") {
    const auto looked_at = [](std::int64_t n, bool causal) {
        Sheet sheet;
        const auto part = [&](const char* name) { return sheet.input(name, {n, 1, width}, normal(n * width, 1)); };
        Attrs attrs{{"counts", true}};
        if (causal) attrs.set("causal", true);
        const std::vector<Tensor> results = add_call(sheet.graph, linear_attention_op,
                                                     {part("q"), part("k"), part("v")}, attrs, SourceLocation::here());
        sheet.graph.output("counts", results[3]);
        const Values counts = sheet.run().at("counts");
        return std::accumulate(counts.begin(), counts.end(), 0.0);
    };
    constexpr std::int64_t n = 128, chunk = 64;
    CHECK(looked_at(n, true) == static_cast<double>(n * (chunk + 1)) / 2);  // those of its own chunk, up to itself
    CHECK(looked_at(4 * n, true) == 4 * looked_at(n, true));
    CHECK(looked_at(4 * n, false) == 0);  // all come from sums, of which there is one for each chunk
}

}  // namespace attention_forms
