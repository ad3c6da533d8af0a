// What the literature says of gradients in transformers, in numbers: by the references of ops, in double.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>

#include "evaluate.h"
#include "runtime/base/format.h"
#include "vantage/gradient.h"
#include "vantage/ops.h"

using namespace vantage;
using namespace vantage::internal;
using vantage::test::evaluate;

namespace {

/// A graph whose inputs are random.
class Drawn {
public:
    Tensor input(const std::string& name, const Shape& shape, double deviation) {
        const Tensor tensor = graph.input(name, shape);
        HostTensor& values = inputs_[name] = HostTensor(tensor.type());
        std::normal_distribution<double> normal(0, deviation);
        for (double& x : values.data) x = normal(engine_);
        return tensor;
    }
    /// Σ weight · x, with random weights of deviation 1.
    Tensor weighted_sum(Tensor x) {
        const std::int64_t count = x.shape().elements();
        const Tensor weights = input(format("weights {}", inputs_.size()), {count, 1}, 1);
        return graph.reshape(matmul(graph.reshape(x, {1, count}), weights), {1});
    }
    HostTensor value(Tensor tensor) { return evaluate(graph, inputs_, std::vector{tensor}).front(); }
    HostTensor gradient(Tensor loss, Tensor of) { return value(gradients(loss, std::vector{of}).front()); }
    const HostTensor& given(const std::string& name) const { return inputs_.at(name); }

    Graph graph;

private:
    std::map<std::string, HostTensor> inputs_;
    std::mt19937 engine_{3};
};

double norm(const HostTensor& x) {
    double squares = 0;
    for (const double value : x.data) squares += value * value;
    return std::sqrt(squares);
}

/// a [n, n] times b [n, n].
std::vector<double> product(const std::vector<double>& a, const std::vector<double>& b, std::size_t n) {
    std::vector<double> c(n * n);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j)
            for (std::size_t k = 0; k < n; ++k) c[i * n + j] += a[i * n + k] * b[k * n + j];
    return c;
}

}  // namespace

TEST_CASE("the gradient through residual blocks is a product of I + J, and so has the path I", "[gradient]") {
    constexpr std::int64_t n = 5;
    Drawn d;
    const Tensor x = d.input("x", {1, n}, 1);
    Tensor y = x;
    std::vector<double> whole(n * n);  // of rows: y = x (I + W0) (I + W1) …
    for (std::size_t i = 0; i < n; ++i) whole[i * n + i] = 1;
    for (const std::string name : {"W0", "W1", "W2"}) {
        y = y + matmul(y, d.input(name, {n, n}, 0.4));
        std::vector<double> factor = d.given(name).data;
        for (std::size_t i = 0; i < n; ++i) factor[i * n + i] += 1;
        whole = product(whole, factor, n);
    }
    const Tensor loss = d.weighted_sum(y);
    const std::vector<double> got = d.gradient(loss, x).data, weights = d.given("weights 4").data;
    for (std::size_t i = 0; i < n; ++i) {
        double wanted = 0;
        for (std::size_t j = 0; j < n; ++j) wanted += whole[i * n + j] * weights[j];
        CHECK(std::abs(got[i] - wanted) < 1e-12);
    }
    // blocks that pass nothing on leave the path I (He et al. 2016)
    Tensor z = x;
    for (int layer = 0; layer < 20; ++layer) z = z + 0.0 * activate(z, Activation::tanh);
    const Tensor other = d.weighted_sum(z);
    const std::vector<double> identity = d.gradient(other, x).data, ones = d.given("weights 5").data;
    for (std::size_t i = 0; i < n; ++i) CHECK(std::abs(identity[i] - ones[i]) < 1e-12);
}

TEST_CASE("without residual connections the gradient vanishes with depth", "[gradient]") {
    constexpr std::int64_t n = 32;
    const auto share = [&](bool residual, int layers) {  // of the gradient that reaches the first layer
        Drawn d;
        const Tensor x = d.input("x", {4, n}, 1);
        Tensor y = x;
        for (int layer = 0; layer < layers; ++layer) {
            const Tensor w = d.input(format("W{}", layer), {n, n}, 0.5 / std::sqrt(n));
            const Tensor f = activate(matmul(y, w), Activation::tanh);
            y = residual ? y + f : f;
        }
        return norm(d.gradient(d.weighted_sum(y), x)) / std::sqrt(4.0 * n);
    };
    CHECK(share(false, 4) < 0.1);
    CHECK(share(false, 16) < 1e-4);
    CHECK(share(true, 4) > 0.9);
    CHECK(share(true, 16) > 0.9);
}

TEST_CASE("gradients of the last layer shrink with depth before a norm, and not behind one", "[gradient]") {
    // Xiong et al. 2020: of the order √(1 / L) with pre-norm, and independent of L with post-norm
    constexpr std::int64_t n = 24, rows = 8;
    const auto last_layer = [&](bool pre, int layers) {
        Drawn d;
        Tensor x = d.input("x", {rows, n}, 1), last;
        for (int layer = 0; layer < layers; ++layer) {
            const Tensor w = d.input(format("W{}", layer), {n, n}, 1 / std::sqrt(n));
            const Tensor v = d.input(format("V{}", layer), {n, n}, 1 / std::sqrt(n));
            const auto mlp = [&](Tensor y) { return matmul(activate(matmul(y, w), Activation::relu), v); };
            x = pre ? x + mlp(layer_norm(x, {}, {})) : layer_norm(x + mlp(x), {}, {});
            last = v;
        }
        if (pre) x = layer_norm(x, {}, {});
        return norm(d.gradient(d.weighted_sum(x), last));
    };
    const double pre = last_layer(true, 24) / last_layer(true, 2), post = last_layer(false, 24) / last_layer(false, 2);
    INFO("from 2 to 24 layers: pre-norm " << pre << ", post-norm " << post);
    CHECK(pre < 0.5);  // √(2 / 24) = 0.29
    CHECK(post > 0.6);
    CHECK(post < 1.6);
}

TEST_CASE("without 1 / sqrt(d) the gradient of a softmax over scores vanishes", "[gradient]") {
    // Vaswani et al. 2017, section 3.2.1: products of d terms have the variance d, and push softmax where it is flat
    constexpr std::int64_t d_k = 512, keys = 64, rows = 16;
    // The median over rows: the few whose two largest scores are close keep a gradient.
    const auto size = [&](double scale) {
        Drawn d;
        const Tensor q = d.input("q", {rows, d_k}, 1), k = d.input("k", {keys, d_k}, 1);
        const Tensor scores = matmul(q, k, {.transpose_b = true, .alpha = scale});
        const HostTensor gradient = d.gradient(d.weighted_sum(softmax(scores)), scores);
        std::vector<double> norms(rows);
        for (std::size_t i = 0; i < gradient.data.size(); ++i)
            norms[i / keys] = std::hypot(norms[i / keys], gradient.data[i]);
        std::ranges::nth_element(norms, norms.begin() + rows / 2);
        return norms[rows / 2];
    };
    const double scaled = size(1 / std::sqrt(static_cast<double>(d_k))), plain = size(1);
    INFO("scaled " << scaled << ", plain " << plain);
    CHECK(plain < 0.25 * scaled);
}
