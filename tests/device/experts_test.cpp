// Mixtures of experts: what has to hold between their parts, whatever the numbers are.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "runtime/base/at.h"
#include "runtime/graph/op_def.h"
#include "sheet.h"

using namespace vantage;
using namespace vantage::test;

namespace mixtures {

namespace {

constexpr std::int64_t n = 37, model_width = 16, inner = 20, experts = 6;

struct Weights {
    Values gate = normal(experts * inner * model_width, 2, 0.3F), up = normal(experts * inner * model_width, 3, 0.3F),
           down = normal(experts * model_width * inner, 4, 0.3F);
};

ExpertWeights inputs(Sheet& sheet, const Weights& w) {
    return {.gate = sheet.input("gate", {experts, inner, model_width}, w.gate),
            .up = sheet.input("up", {experts, inner, model_width}, w.up),
            .down = sheet.input("down", {experts, model_width, inner}, w.down)};
}

/// down (silu(gate x) ∘ up x) of one expert, by the definition.
std::vector<double> expert(const Weights& w, std::int64_t e, const float* x) {
    const auto row = [&](const Values& matrix, std::int64_t i, std::int64_t rows, std::int64_t cols, const auto* by) {
        double sum = 0;
        for (std::int64_t k = 0; k < cols; ++k)
            sum += static_cast<double>(at(matrix, (e * rows + i) * cols + k)) * static_cast<double>(by[k]);
        return sum;
    };
    std::vector<double> hidden, y;
    for (std::int64_t i = 0; i < inner; ++i) {
        const double gate = row(w.gate, i, inner, model_width, x);
        hidden.push_back(gate / (1 + std::exp(-gate)) * row(w.up, i, inner, model_width, x));
    }
    for (std::int64_t i = 0; i < model_width; ++i) y.push_back(row(w.down, i, model_width, inner, hidden.data()));
    return y;
}

}  // namespace

TEST_CASE("as many choices as experts are the dense mixture", "[properties][experts]") {
    const Weights weights;
    const Values x = normal(n * model_width, 1), logits = normal(n * experts, 5);
    Sheet sheet;
    const Tensor rows = sheet.input("x", {n, model_width}, x);
    const Routing routing = route(sheet.input("logits", {n, experts}, logits), experts, false);
    sheet.graph.output("y", mixture_of_experts(rows, routing, inputs(sheet, weights)));
    const Values y = sheet.run().at("y");
    for (std::int64_t t = 0; t < n; ++t) {
        std::vector<double> want(model_width);
        double sum = 0;
        for (std::int64_t e = 0; e < experts; ++e) sum += std::exp(static_cast<double>(at(logits, t * experts + e)));
        for (std::int64_t e = 0; e < experts; ++e) {
            const double p = std::exp(static_cast<double>(at(logits, t * experts + e))) / sum;
            const std::vector<double> part = expert(weights, e, x.data() + t * model_width);
            for (std::size_t i = 0; i < part.size(); ++i) want[i] += p * part[i];
        }
        for (std::size_t i = 0; i < want.size(); ++i)
            CHECK(std::abs(static_cast<double>(y[static_cast<std::size_t>(t * model_width) + i]) - want[i]) < 2e-5);
    }
}

TEST_CASE("a token's mixture does not depend on the other tokens", "[properties][experts]") {
    const Weights weights;
    const Values x = normal(n * model_width, 1), logits = normal(n * experts, 5);
    const auto mixture = [&](std::int64_t first, std::int64_t rows) {
        const auto part = [&](const Values& all, std::int64_t each) {
            return Values(all.begin() + first * each, all.begin() + (first + rows) * each);
        };
        Sheet sheet;
        const Tensor in = sheet.input("x", {rows, model_width}, part(x, model_width));
        const Routing routing = route(sheet.input("logits", {rows, experts}, part(logits, experts)), 2, true);
        sheet.graph.output("y", mixture_of_experts(in, routing, inputs(sheet, weights)));
        return sheet.run().at("y");
    };
    const Values together = mixture(0, n);  // many rows: by tiles; one row: the kernel for few
    for (const std::int64_t t : {std::int64_t{0}, std::int64_t{11}, n - 1}) {
        const Values alone = mixture(t, 1);
        for (std::size_t i = 0; i < alone.size(); ++i)
            CHECK(std::abs(alone[i] - together[static_cast<std::size_t>(t * model_width) + i]) < 1e-5F);
    }
}

TEST_CASE("choices beyond an expert's capacity add nothing", "[properties][experts]") {
    const Weights weights;
    Sheet sheet;
    const Values x = normal(n * model_width, 1);
    Values logits(static_cast<std::size_t>(n * experts));
    for (std::int64_t t = 0; t < n; ++t) at(logits, t * experts + 3) = 5;  // all want the same one
    const Tensor rows = sheet.input("x", {n, model_width}, x);
    const Routing routing = route(sheet.input("logits", {n, experts}, logits), 1, true);
    sheet.graph.output("y", mixture_of_experts(rows, routing, inputs(sheet, weights), {.capacity = 4}));
    sheet.graph.output("loss", load_balance(routing));
    auto got = sheet.run();
    for (std::int64_t t = 0; t < n; ++t) {
        const std::vector<double> part = expert(weights, 3, x.data() + t * model_width);
        for (std::size_t i = 0; i < part.size(); ++i)
            CHECK(std::abs(static_cast<double>(got.at("y")[static_cast<std::size_t>(t * model_width) + i]) -
                           (t < 4 ? part[i] : 0)) < 2e-5);
    }
    const double p = std::exp(5.0) / (std::exp(5.0) + experts - 1);
    CHECK(std::abs(static_cast<double>(got.at("loss")[0]) - static_cast<double>(experts) * p) < 1e-5);
}

TEST_CASE("an expert that no token chose is not even read", "[properties][experts]") {
    // Weights of NaN that are read, if only to be multiplied with a choice of 0, are in the result.
    Weights weights;
    for (Values* all : {&weights.gate, &weights.up, &weights.down})
        for (std::size_t i = 0; i < all->size(); ++i)
            if (const std::size_t e = i / (inner * model_width); e != 1 && e != 4)
                (*all)[i] = std::numeric_limits<float>::quiet_NaN();
    Values logits(static_cast<std::size_t>(n * experts));
    for (std::int64_t t = 0; t < n; ++t) at(logits, t * experts + (t % 3 == 0 ? 4 : 1)) = 5;
    for (const std::int64_t rows : {n, std::int64_t{1}}) {  // by tiles, and the kernel for few rows
        Sheet sheet;
        const Tensor x = sheet.input("x", {rows, model_width}, normal(rows * model_width, 1));
        const Values some(logits.begin(), logits.begin() + rows * experts);
        const Routing routing = route(sheet.input("logits", {rows, experts}, some), 1, true);
        sheet.graph.output("y", mixture_of_experts(x, routing, inputs(sheet, weights)));
        const Values y = sheet.run().at("y");
        CHECK(std::ranges::all_of(y, [](float value) { return std::isfinite(value); }));
    }
}

TEST_CASE("k of E experts cost k / E of all", "[experts][cost]") {
    // FLOPs that the op counts, and the most tiles that its grid has, both for n and for 4 n tokens
    const auto work = [](std::int64_t tokens, std::int64_t top_k) {
        Graph g;
        const Tensor x = g.input("x", {tokens, 64});
        const Routing routing = route(g.input("logits", {tokens, 8}), top_k, true);
        const ExpertOrder order = sort_by_expert(routing.index, 8);
        expert_linear(x, g.weight("w", {8, 64, 64}), order);
        const Node& node = g.nodes().back();
        OpCall call{.op = node.op, .attrs = node.attrs, .inputs = {}, .outputs = {}};
        for (const int id : node.inputs)
            call.inputs.push_back(id >= 0 ? std::optional(g.value(id).type) : std::nullopt);
        call.outputs = node.op->infer(call);
        const auto tiled = std::find_if(node.op->kernels.begin(), node.op->kernels.end(),
                                        [](const Kernel& kernel) { return std::string(kernel.name) == "tiled"; });
        const auto groups = tiled->launch(call, test_device().caps()).launches.front().groups;
        return std::pair{node.op->cost(call).flops, static_cast<double>(groups[0]) * groups[1]};
    };
    const double experts_and_rest = 9;  // tiles that may be begun: one for each expert, one for what was dropped
    for (const std::int64_t tokens : {std::int64_t{1024}, std::int64_t{4096}}) {
        CHECK(work(tokens, 2).first * 4 == work(tokens, 8).first);
        CHECK((work(tokens, 2).second - experts_and_rest) * 4 == work(tokens, 8).second - experts_and_rest);
    }
    CHECK(work(4096, 2).first == 4 * work(1024, 2).first);
}

}  // namespace mixtures
