// One attention with ALiBi, a window, a soft cap and shared key heads, and its log-sum-exp.
#include <vantage/vantage.h>

#include <cstdio>

int main() try {
    using namespace vantage;
    constexpr std::int64_t n = 32, heads = 8, kv_heads = 2, width = 16;
    Graph g;
    const Tensor q = g.input("q", {n, heads, width}), k = g.input("k", {n, kv_heads, width}),
                 v = g.input("v", {n, kv_heads, width}), slopes = g.constant("slopes", {heads}, alibi_slopes(heads));
    const auto result = attention(q, k, v, {.causal = true, .softcap = 30, .alibi_slopes = slopes, .window_left = 8});
    g.output("o", result.o);
    g.output("lse", result.lse);
    Plan plan = compile(g, Device::open());
    plan.fill("q", 0.5), plan.fill("k", 0.25), plan.fill("v", 1);
    plan.run();
    const Array o = plan.read("o"), lse = plan.read("lse");
    std::printf("o(31, 7, 0) = %g, lse(31, 7) = %g\n", o(31, 7, 0), lse(31, 7));
    return plan.check(1).empty() && o(31, 7, 0) > 0.999f ? 0 : 1;  // weights sum to 1, and all values are 1
} catch (const vantage::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return vantage::exit_code(error.kind());
}
