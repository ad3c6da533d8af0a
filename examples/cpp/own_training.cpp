// Training a graph of your own: a network with two layers learns whether a point is inside of a ring.
#include <vantage/gradient.h>
#include <vantage/optimizer.h>
#include <vantage/vantage.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

int main() try {
    using namespace vantage;
    constexpr std::int64_t rows = 256, width = 32;
    constexpr int steps = 300;
    Graph g;
    const Tensor x = g.input("x", {rows, 2}), targets = g.input("targets", {rows}, DType::i32);
    const std::vector<Tensor> weights{g.weight("w1", {2, width}), g.weight("b1", {width}), g.weight("w2", {width, 2}),
                                      g.weight("b2", {2})};
    const Tensor logits = linear(gelu(linear(x, weights[0], weights[1])), weights[2], weights[3]);
    const Tensor each = g.reshape(cross_entropy(logits, targets).loss, {1, rows});
    const Tensor mean = g.constant("mean", {rows, 1}, std::vector<float>(rows, 1.0F / rows));
    const Tensor loss = g.reshape(matmul(each, mean), {1});
    g.output("loss", loss);
    const std::vector<float> rates = learning_rates({.schedule = RateSchedule::cosine, .rate = 0.03}, steps);
    const Updates updates = update(weights, gradients(loss, weights), rates, {.weight_decay = 0.01});

    Plan plan = compile(g, Device::open());
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (const auto& [name, count] : {std::pair("w1", 2 * width), {"b1", width}, {"w2", 2 * width}, {"b2", 2}}) {
        std::vector<float> values(static_cast<std::size_t>(count));
        for (float& value : values) value = 0.5F * normal(random);
        plan.write(name, values);
    }
    updates.begin(plan);
    float first = 0, last = 0;
    for (int step = 0; step < steps; ++step) {
        std::vector<float> points;
        std::vector<std::int32_t> inside;
        for (std::int64_t row = 0; row < rows; ++row) {
            points.push_back(normal(random)), points.push_back(normal(random));
            const float radius = std::hypot(points[points.size() - 2], points.back());
            inside.push_back(radius > 0.7F && radius < 1.5F ? 1 : 0);
        }
        plan.write("x", points), plan.write("targets", inside);
        plan.run();
        last = plan.read("loss")(0);
        if (step == 0) first = last;
        if (step % 50 == 0) std::printf("step %3d  loss %.3f\n", step, last);
    }
    std::printf("loss %.3f at first, %.3f after %d steps\n", first, last, steps);
    return last < 0.5F * first ? 0 : 1;
} catch (const vantage::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return vantage::exit_code(error.kind());
}
