// Windows, masks and biases of attention: what has to hold between them, whatever the numbers are.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "runtime/base/at.h"
#include "runtime/graph/op_def.h"
#include "runtime/ops/attention_rules.h"
#include "sheet.h"

using namespace vantage;
using namespace vantage::test;

namespace attention_rules {

namespace {

constexpr std::int64_t heads = 3, width = 24;

// One attention over n tokens: its output, log-sum-exps and the tap's weights of head 1.
struct Run {
    Values o, lse, p;
};

using Rules = std::function<AttentionOptions(Sheet&)>;

Run attend(std::int64_t n, const Rules& rules) {
    Sheet sheet;
    const Tensor q = sheet.input("q", {n, heads, width}, normal(n * heads * width, 1)),
                 k = sheet.input("k", {n, 1, width}, normal(n * width, 2)),
                 v = sheet.input("v", {n, 1, width}, normal(n * width, 3));
    const AttentionOptions options = rules(sheet);
    const AttentionResult result = attention(q, k, v, options);
    sheet.graph.output("o", result.o);
    sheet.graph.output("lse", result.lse);
    sheet.graph.output("p", attention_weights(q, k, result.lse, {.head = 1, .rows = n, .keys = n}, options));
    auto got = sheet.run();
    return {got.at("o"), got.at("lse"), got.at("p")};
}

void check_same(const Run& a, const Run& b) {
    REQUIRE(a.o.size() == b.o.size());
    for (std::size_t i = 0; i < a.o.size(); ++i) CHECK(std::abs(a.o[i] - b.o[i]) < 1e-5);
    for (std::size_t i = 0; i < a.lse.size(); ++i) CHECK(std::abs(a.lse[i] - b.lse[i]) < 1e-5);
    for (std::size_t i = 0; i < a.p.size(); ++i) CHECK(std::abs(a.p[i] - b.p[i]) < 1e-5);
}

}  // namespace

TEST_CASE("rules that leave all visible change nothing", "[properties][attention]") {
    constexpr std::int64_t n = 50;
    for (bool causal : {false, true}) {
        const Run plain = attend(n, [&](Sheet&) { return AttentionOptions{.causal = causal}; });
        check_same(plain, attend(n, [&](Sheet&) {
                       return AttentionOptions{.causal = causal, .window_left = n, .window_right = n};
                   }));
        check_same(plain, attend(n, [&](Sheet& sheet) {
                       return AttentionOptions{
                           .causal = causal,
                           .block_mask = sheet.input("blocks", {7, 7}, std::vector<std::int32_t>(49, 1)),
                           .block_size = 8};
                   }));
        check_same(plain, attend(n, [&](Sheet& sheet) {
                       return AttentionOptions{
                           .causal = causal,
                           .alibi_slopes = sheet.input("slopes", {heads}, Values(heads, 0)),
                           .segment_ids = sheet.input("segments", {n}, std::vector<std::int32_t>(n, 7))};
                   }));
        check_same(plain, attend(n, [&](Sheet& sheet) {
                       return AttentionOptions{.causal = causal,
                                               .mask = sheet.input("mask", {n, n}, Values(n * n, 0)),
                                               .sinks = sheet.input("sinks", {heads}, Values(heads, -1e4f))};
                   }));
    }
}

TEST_CASE("a block that is seen three times adds ln 3 to its keys' scores", "[properties][attention]") {
    constexpr std::int64_t n = 50;
    std::vector<std::int32_t> counts(49, 1);
    Values logarithms(n * heads, 0);
    for (std::size_t row = 0; row < 7; ++row) counts[7 * row] = 3;
    for (std::size_t i = 0; i < 8 * heads; ++i) logarithms[i] = std::log(3.0F);
    const Run run = attend(n, [&](Sheet& sheet) {
        return AttentionOptions{.block_mask = sheet.input("blocks", {7, 7}, counts), .block_size = 8};
    });
    check_same(run, attend(n, [&](Sheet& sheet) {
                   return AttentionOptions{.key_bias = sheet.input("bias", {n, heads}, logarithms)};
               }));
    for (std::int64_t i = 0; i < n; ++i)
        CHECK(std::abs(std::accumulate(run.p.begin() + n * i, run.p.begin() + n * (i + 1), 0.0F) - 1) < 1e-5);
}

TEST_CASE("one rule said in two ways is one rule", "[properties][attention]") {
    constexpr std::int64_t n = 50, w = 6;
    const Run window = attend(n, [=](Sheet&) { return AttentionOptions{.causal = true, .window_left = w}; });
    check_same(window, attend(n, [](Sheet& sheet) {
                   Values mask(n * n, 0);
                   for (std::int64_t i = 0; i < n; ++i)
                       for (std::int64_t j = 0; j < n; ++j)
                           if (j > i || i - j > w) at(mask, i * n + j) = -std::numeric_limits<float>::infinity();
                   return AttentionOptions{.mask = sheet.input("mask", {n, n}, mask)};
               }));
    const Run slopes = attend(n, [](Sheet& sheet) {
        return AttentionOptions{.causal = true, .alibi_slopes = sheet.input("slopes", {heads}, alibi_slopes(heads))};
    });
    check_same(slopes, attend(n, [](Sheet& sheet) {
                   Values mask(heads * n * n, 0);
                   for (std::int64_t h = 0; h < heads; ++h)
                       for (std::int64_t i = 0; i < n; ++i)
                           for (std::int64_t j = 0; j < n; ++j)
                               at(mask, (h * n + i) * n + j) = at(alibi_slopes(heads), h) * static_cast<float>(j - i);
                   return AttentionOptions{.causal = true, .mask = sheet.input("mask", {heads, n, n}, mask)};
               }));
    const Run prefix = attend(w, [=](Sheet&) { return AttentionOptions{.causal = true, .prefix_len = w}; });
    check_same(prefix, attend(w, [](Sheet&) { return AttentionOptions{}; }));
}

TEST_CASE("the tap's weights of a ruled row sum to 1, or to what a sink leaves", "[properties][attention]") {
    constexpr std::int64_t n = 40;
    const Run run = attend(n, [](Sheet& sheet) {
        return AttentionOptions{.causal = true,
                                .softcap = 3,
                                .alibi_slopes = sheet.input("slopes", {heads}, alibi_slopes(heads)),
                                .sinks = sheet.input("sinks", {heads}, Values{0.5f, 1.5f, -1}),
                                .window_left = 12,
                                .dilation = 3};
    });
    for (std::size_t row = 0; row < n; ++row) {
        double sum = 0;
        for (std::size_t key = 0; key < n; ++key) {
            const float p = run.p[row * n + key];
            sum += p;
            if (key > row || row - key > 12 || (row - key) % 3 != 0) CHECK(p == 0.0f);
        }
        const double sink = std::exp(1.5 - run.lse[row * heads + 1]);  // head 1
        CHECK(std::abs(sum + sink - 1) < 1e-5);
    }
}

TEST_CASE("keys beyond the window are not even read", "[properties][attention]") {
    // A NaN that is read, if only to be multiplied with a weight of 0, is in the result.
    constexpr std::int64_t n = 4, m = 1000, w = 6;
    Sheet sheet;
    Values k = normal(m * width, 2), v = normal(m * width, 3);
    for (std::size_t i = 0; i < (m - 200) * width; ++i) k[i] = v[i] = std::numeric_limits<float>::quiet_NaN();
    sheet.graph.output("o", attention(sheet.input("q", {n, heads, width}, normal(n * heads * width, 1)),
                                      sheet.input("k", {m, 1, width}, k), sheet.input("v", {m, 1, width}, v),
                                      {.causal = true, .window_left = w})
                                .o);
    const auto got = sheet.run("plain");
    for (float x : got.at("o")) CHECK(std::isfinite(x));
}

TEST_CASE("the cost of a window grows with n, of full attention with its square", "[attention]") {
    const auto flops = [](std::int64_t n, const Attrs& attrs) {
        OpCall call{.op = find_op("attention"), .attrs = attrs, .inputs = {}, .outputs = {}};
        for (int i = 0; i < 3; ++i) call.inputs.emplace_back(TensorType{Shape{n, 4, 64}, DType::f32});
        call.outputs = call.op->infer(call);
        return call.op->cost(call).flops;
    };
    using I = std::int64_t;
    const Attrs causal{{"causal", true}}, window{{"causal", true}, {"window_left", I{127}}},
        longformer{{"window_left", I{64}}, {"window_right", I{64}}, {"global_tokens", I{2}}};
    CHECK(std::abs(flops(8192, causal) / flops(2048, causal) - 16) < 0.1);
    CHECK(std::abs(flops(8192, window) / flops(2048, window) - 4) < 0.2);
    CHECK(std::abs(flops(8192, longformer) / flops(2048, longformer) - 4) < 0.2);
    CHECK(flops(2048, causal) / flops(2048, window) > 8);
}

TEST_CASE("linear attention is what its definition says, and linear", "[properties][attention]") {
    // A value of all ones is kept by any weights that sum to 1.
    constexpr std::int64_t n = 150, features = 12;
    Sheet sheet;
    const Tensor q = sheet.input("q", {n, 2, features}, normal(n * 2 * features, 1)),
                 k = sheet.input("k", {n, 2, features}, normal(n * 2 * features, 2)),
                 ones = sheet.input("v", {n, 2, 8}, Values(n * 2 * 8, 1));
    for (bool causal : {false, true})
        sheet.graph.output(causal ? "causal" : "full", linear_attention(q, k, ones, {.causal = causal}).o);
    // The last token sees all tokens, causal or not.
    const Tensor v = sheet.input("values", {n, 2, 8}, normal(n * 2 * 8, 3));
    for (bool causal : {false, true})
        sheet.graph.output(causal ? "last causal" : "last full", linear_attention(q, k, v, {.causal = causal}).o);
    auto got = sheet.run();
    for (const char* name : {"causal", "full"})
        for (float x : got.at(name)) CHECK(std::abs(x - 1) < 1e-5);
    for (std::size_t i = (n - 1) * 16; i < n * 16; ++i)
        CHECK(std::abs(got.at("last causal")[i] - got.at("last full")[i]) < 1e-5);

    const auto flops = [](std::int64_t tokens) {
        OpCall call{.op = find_op("linear_attention"), .attrs = {{"causal", true}}, .inputs = {}, .outputs = {}};
        for (int i = 0; i < 3; ++i) call.inputs.emplace_back(TensorType{Shape{tokens, 4, 64}, DType::f32});
        call.outputs = call.op->infer(call);
        return call.op->cost(call).flops;
    };
    CHECK(flops(8192) == 4 * flops(2048));
}

TEST_CASE("additive and multiplicative attention", "[properties][attention]") {
    constexpr std::int64_t n = 5, m = 9, dq = 6, dk = 8;
    Sheet sheet;
    const Tensor q = sheet.input("q", {2, n, dq}, normal(2 * n * dq, 1)),
                 k = sheet.input("k", {2, m, dk}, normal(2 * m * dk, 2)),
                 wide = sheet.input("wide", {2, n, dk}, normal(2 * n * dk, 3));
    Values identity(dk * dk, 0);
    for (std::size_t i = 0; i < dk; ++i) identity[i * dk + i] = 1;
    const AdditiveWeights weights{sheet.input("wq", {7, dq}, normal(7 * dq, 4)),
                                  sheet.input("wk", {7, dk}, normal(7 * dk, 5)), sheet.input("b", {7}, normal(7, 6)),
                                  sheet.input("w", {7}, Values(7, 0))};
    const ContextResult additive = additive_attention(q, k, k, weights), dot = luong_attention(wide, k, k),
                        general = luong_attention(wide, k, k, sheet.input("identity", {dk, dk}, identity));
    sheet.graph.output("additive", additive.context);
    sheet.graph.output("dot", dot.context);
    sheet.graph.output("general", general.context);
    sheet.graph.output("p", dot.p);
    const Values keys = sheet.floats.at("k");
    const auto got = sheet.run();
    for (std::size_t b = 0; b < 2; ++b)  // scores of 0: the mean of all values
        for (std::size_t d = 0; d < dk; ++d) {
            double mean = 0;
            for (std::size_t j = 0; j < m; ++j) mean += keys[(b * m + j) * dk + d] / static_cast<double>(m);
            for (std::size_t i = 0; i < n; ++i) CHECK(std::abs(got.at("additive")[(b * n + i) * dk + d] - mean) < 1e-5);
        }
    for (std::size_t i = 0; i < got.at("dot").size(); ++i)
        CHECK(std::abs(got.at("dot")[i] - got.at("general")[i]) < 1e-5);
    for (std::size_t row = 0; row < 2 * n; ++row) {
        double sum = 0;
        for (std::size_t j = 0; j < m; ++j) sum += got.at("p")[row * m + j];
        CHECK(std::abs(sum - 1) < 1e-5);
    }
}

TEST_CASE("a patch embedding is a convolution of its stride", "[properties]") {
    constexpr std::int64_t edge = 3, channels = 2, out = 4;
    Sheet sheet;
    const Values image = normal(channels * 6 * 9, 1), weight = normal(out * channels * edge * edge, 2),
                 bias = normal(out, 3);
    sheet.graph.output(
        "y", patch_embed(sheet.input("x", {1, channels, 6, 9}, image),
                         sheet.input("w", {out, channels, edge, edge}, weight), sheet.input("b", {out}, bias)));
    const Values y = sheet.run().at("y");
    for (std::int64_t r = 0; r < 2; ++r)
        for (std::int64_t c = 0; c < 3; ++c)
            for (std::int64_t o = 0; o < out; ++o) {
                double sum = at(bias, o);
                for (std::int64_t ch = 0; ch < channels; ++ch)
                    for (std::int64_t i = 0; i < edge; ++i)
                        for (std::int64_t j = 0; j < edge; ++j)
                            sum += at(image, (ch * 6 + r * edge + i) * 9 + c * edge + j) *
                                   at(weight, ((o * channels + ch) * edge + i) * edge + j);
                CHECK(std::abs(y[static_cast<std::size_t>((r * 3 + c) * out + o)] - sum) < 1e-4);
            }
}

TEST_CASE("a bias by distance that is a slope is ALiBi", "[properties][attention]") {
    constexpr std::int64_t tokens = 17, reach = 16;
    const auto attend = [&](bool by_distance) {
        Sheet sheet;
        const Tensor q = sheet.input("q", {tokens, heads, width}, normal(tokens * heads * width, 1)),
                     k = sheet.input("k", {tokens, 1, width}, normal(tokens * width, 2)),
                     v = sheet.input("v", {tokens, 1, width}, normal(tokens * width, 3));
        AttentionOptions options{.causal = true};
        const std::vector<float> slopes = alibi_slopes(heads);
        Values table;
        for (std::int64_t distance = -reach; distance <= reach; ++distance)
            for (const float slope : slopes) table.push_back(slope * static_cast<float>(distance));
        if (by_distance)
            options.distance_bias = sheet.input("table", {2 * reach + 1, heads}, table);
        else
            options.alibi_slopes = sheet.input("slopes", {heads}, slopes);
        const AttentionResult result = attention(q, k, v, options);
        sheet.graph.output("o", result.o);
        sheet.graph.output("p",
                           attention_weights(q, k, result.lse, {.head = 2, .rows = tokens, .keys = tokens}, options));
        return sheet.run();
    };
    auto a = attend(true), b = attend(false);
    for (const char* name : {"o", "p"})
        for (std::size_t i = 0; i < a.at(name).size(); ++i) CHECK(std::abs(a.at(name)[i] - b.at(name)[i]) < 1e-5F);
}

}  // namespace attention_rules
