// A transformer block written as a graph: pre-norm attention and a gated MLP, with made-up weights.
#include <vantage/vantage.h>

#include <cmath>
#include <cstdio>

int main() try {
    using namespace vantage;
    constexpr std::int64_t n = 16, width = 64, heads = 4, inner = 128;
    Graph g;
    const Tensor x = g.input("x", {n, width});
    const auto weight = [&](const char* name, std::int64_t in, std::int64_t out) { return g.weight(name, {in, out}); };
    const Tensor a = rms_norm(x, g.weight("norm1", {width}));
    const QKV qkv = split_qkv(linear(a, weight("qkv", width, 3 * width)), heads, heads);
    const Tensor o = attention(qkv.q, qkv.k, qkv.v, {.causal = true}).o;
    const Tensor h = x + linear(g.reshape(o, {n, width}), weight("out", width, width));
    const Tensor m = rms_norm(h, g.weight("norm2", {width}));
    const Tensor up = swiglu(linear(m, weight("gate", width, inner)), linear(m, weight("up", width, inner)));
    g.output("y", h + linear(up, weight("down", inner, width)));

    Plan plan = compile(g, Device::open(), {.profile = true});
    std::vector<float> tokens(n * width);
    for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = std::sin(0.1f * static_cast<float>(i));
    plan.write("x", tokens);
    for (const char* name : {"norm1", "norm2"}) plan.fill(name, 1);
    for (const char* name : {"qkv", "out", "gate", "up", "down"})
        plan.fill(name, 0.01);  // plan.load("block.safetensors")
    plan.run();
    const Array y = plan.read("y");
    std::printf("y is %s, y(15, 63) = %g\n", y.shape().text().c_str(), y(15, 63));
    for (const DispatchTiming& t : plan.timings())
        std::printf("%8.1f us  %-8s %s\n", 1e6 * t.seconds(), t.layer.c_str(), t.label.c_str());
    return plan.check(1).empty() ? 0 : 1;
} catch (const vantage::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return vantage::exit_code(error.kind());
}
