#include "runtime/inspect/worked_example.h"

#include <array>
#include <numbers>

#include "vantage/ops.h"

namespace vantage::internal {

namespace {

using Matrix = std::array<float, 32>;

Tensor constant(Graph& g, const std::string& name, const Matrix& values, std::int64_t columns) {
    return g.constant(name, {static_cast<std::int64_t>(values.size()) / columns, columns},
                      [values] { return std::vector<float>(values.begin(), values.end()); });
}

constexpr Matrix x{1, 0, 1, 0, 1, 0, 0, 1,   // AAPL
                   0, 1, 0, 1, 0, 1, 1, 0,   // revenue
                   1, 1, 0, 0, 1, 1, 0, 0,   // beat
                   0, 0, 1, 1, 0, 0, 1, 1};  // expectations
constexpr Matrix w_q{1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1};
constexpr Matrix w_k{0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
constexpr Matrix w_v{1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1};

}  // namespace

WorkedExample worked_example() {
    constexpr std::int64_t tokens = 4, features = 8, width = 4;
    constexpr double scale = 0.5;  // 1 / √width
    Graph g;
    const Tensor input = constant(g, "X", x, features);
    const auto projected = [&](const char* name, const Matrix& weights) {
        return matmul(input, constant(g, name, weights, width));
    };
    const Tensor q = projected("W_Q", w_q), k = projected("W_K", w_k), v = projected("W_V", w_v);
    const Tensor s = matmul(q, k, {.transpose_b = true}), a = softmax(s, -1, scale), z = matmul(a, v);
    const auto as_head = [&](Tensor t) { return g.reshape(t, {tokens, 1, width}); };
    const Tensor fused = attention(as_head(q), as_head(k), as_head(v), {.scale = scale}).o;
    const std::pair<const char*, Tensor> outputs[] = {{"Q", q}, {"K", k}, {"V", v},          {"S", s},
                                                      {"A", a}, {"Z", z}, {"Z_fused", fused}};
    for (const auto& [name, tensor] : outputs) g.output(name, tensor);
    const Tensor s_heads = matmul(split_heads(q, 2), split_heads(k, 2), {.transpose_b = true});
    g.output("S_heads", s_heads);
    g.output("A_heads", softmax(s_heads, -1, std::numbers::sqrt2 / 2));
    return {{"AAPL", "revenue", "beat", "expectations"}, std::move(g)};
}

}  // namespace vantage::internal
