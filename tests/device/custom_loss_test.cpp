// Custom losses in a Trainer, and updates of parameters in graphs without a Trainer.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "../host/expect_error.h"
#include "../host/temporary_directory.h"
#include "runtime/base/files.h"
#include "test_device.h"
#include "vantage/gradient.h"
#include "vantage/optimizer.h"
#include "vantage/train.h"

using namespace vantage;
using vantage::test::expect_error;
using vantage::test::TemporaryDirectory;

namespace {

const char* const config = R"({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 50,
    "n_positions": 16, "n_embd": 16, "n_layer": 1, "n_head": 2})";

Tensor sum_of_products(Tensor x, Tensor weights) {
    const std::int64_t rows = x.shape()[0];
    Graph g = x.graph();
    return g.reshape(matmul(g.reshape(x, {1, rows}), g.reshape(weights, {rows, 1})), {1});
}
Tensor default_loss(const LossInputs& of) { return sum_of_products(of.cross_entropy, of.weights); }

struct Setting {
    TemporaryDirectory folder;
    Dataset data = made();
    TrainOptions options{
        .steps = 6, .sequences = 4, .accumulate = 2, .rate = {.rate = 1e-2, .warmup = 2}, .label_smoothing = 0.1};

    std::vector<TrainRecord> run() const {
        Trainer trainer(test_device(), config, data, options);
        std::vector<TrainRecord> records;
        while (const auto record = trainer.next()) records.push_back(*record);
        return records;
    }

private:
    Dataset made() const {
        std::string ids;
        for (int i = 0; i < 2000; ++i) ids += {static_cast<char>((i * 7 + i / 16) % 50), '\0'};
        const std::string file = folder.path("ids.bin");
        internal::write_file(file, ids);
        return Dataset({file}, {.context = 16, .vocabulary = 50, .folder = folder.path("tokens")});
    }
};

}  // namespace

TEST_CASE("a custom loss equal to the default one trains as it does", "[train]") {
    Setting s;
    for (const Precision precision : {Precision::f32, Precision::f16}) {
        s.options.precision = precision, s.options.loss = {};
        const auto by_default = s.run();
        s.options.loss = default_loss;
        const auto custom = s.run();
        REQUIRE(custom.size() == by_default.size());
        for (std::size_t i = 0; i < custom.size(); ++i) {
            CHECK(std::abs(custom[i].loss - by_default[i].loss) < 1e-5);
            CHECK(std::abs(custom[i].norm / by_default[i].norm - 1) < 1e-4);
        }
    }
    s.options.precision = Precision::f32;
    const auto once = s.run();
    s.options.loss = [](const LossInputs& of) { return 2.0 * default_loss(of); };
    const auto twice = s.run();
    CHECK(std::abs(twice[0].loss - 2 * once[0].loss) < 1e-5);
    CHECK(std::abs(twice[0].norm / once[0].norm - 2) < 1e-5);
}

TEST_CASE("a custom loss sees each row and its target", "[train]") {
    Setting s;
    s.options.label_smoothing = 0, s.options.accumulate = 1;
    s.options.loss = [](const LossInputs& of) {
        const std::int64_t rows = of.targets.shape()[0];
        CHECK((of.sequences == 4 && rows == 64 && of.logits.shape() == Shape{64, 50}));
        return sum_of_products(cross_entropy(of.logits, of.targets).loss, of.weights);
    };
    const auto from_logits = s.run();
    s.options.loss = {};
    CHECK(std::abs(from_logits.back().loss - s.run().back().loss) < 1e-5);
}

TEST_CASE("what is no loss is refused, and a run with a custom loss goes on only with one", "[train][bad]") {
    Setting s;
    const auto refuses = [&](std::initializer_list<const char*> parts) {
        expect_error(ErrorKind::usage, parts, [&] { s.run(); });
    };
    s.options.loss = [](const LossInputs& of) { return of.cross_entropy; };
    refuses({"TrainOptions::loss", "f32 [64]", "f32 [1]"});
    s.options.loss = [](const LossInputs&) { return Tensor(); };
    refuses({"TrainOptions::loss", "none"});
    s.options.loss = [](const LossInputs& of) {
        return sum_of_products(of.cross_entropy, of.cross_entropy.graph().input("own", {64}));
    };
    refuses({"TrainOptions::loss", "an input"});
    s.options.loss = [](const LossInputs& of) { return sum_of_products(stop_gradient(of.cross_entropy), of.weights); };
    refuses({"does not depend on a weight"});

    s.options.loss = default_loss, s.options.pause_every = 1;
    const std::string folder = s.folder.path("run");
    Trainer trainer(test_device(), config, s.data, s.options);
    static_cast<void>(trainer.next());
    trainer.save(folder);
    TrainOptions without = s.options;
    without.loss = {};
    expect_error(ErrorKind::usage, {"custom_loss", "false", "true"},
                 [&] { Trainer::from_folder(test_device(), folder, s.data, without, true); });
    Trainer again = Trainer::from_folder(test_device(), folder, s.data, s.options, true);
    const auto here = trainer.next(), there = again.next();
    CHECK((here && there && here->loss == there->loss));
}

TEST_CASE("parameters of a graph are updated as their optimiser says", "[train]") {
    // loss = Σ x² / 2 · factor, so the gradient is factor · x
    constexpr int steps = 4;
    constexpr double factor = 3, rate = 0.1, decay = 0.2;
    const std::vector<float> begin{1, -2, 0.5, 4};
    const std::vector<float> rates(steps, static_cast<float>(rate));
    const auto device_result = [&](const OptimizerOptions& options) {
        Graph g;
        const Tensor x = g.weight("x", {1, 4}), squares = matmul(x, g.reshape(x, {4, 1}));
        const Tensor loss = g.reshape(squares * (factor / 2), {1});
        const std::vector<Tensor> of{x};
        const Updates updates = update(of, gradients(loss, of), rates, options);
        Plan plan = compile(g, test_device());
        plan.write("x", begin);
        updates.begin(plan);
        for (int step = 0; step < steps; ++step) plan.run();
        const Array array = plan.read("x");
        return std::vector<double>(array.data(), array.data() + begin.size());
    };
    const auto close = [](const std::vector<double>& got, const std::vector<double>& want) {
        for (std::size_t i = 0; i < want.size(); ++i) CHECK(std::abs(got[i] - want[i]) < 1e-5);
    };
    std::vector<double> x(begin.begin(), begin.end()), m(4), v(4);
    for (int t = 1; t <= steps; ++t)
        for (std::size_t i = 0; i < 4; ++i) {
            const double gradient = factor * x[i];
            m[i] = 0.8 * m[i] + 0.2 * gradient, v[i] = 0.9 * v[i] + 0.1 * gradient * gradient;
            x[i] *= 1 - rate * decay;
            x[i] -= rate * m[i] / (1 - std::pow(0.8, t)) / (std::sqrt(v[i] / (1 - std::pow(0.9, t))) + 1e-3);
        }
    close(device_result({.beta1 = 0.8, .beta2 = 0.9, .eps = 1e-3, .weight_decay = decay}), x);

    x.assign(begin.begin(), begin.end()), m.assign(4, 0);
    for (int t = 1; t <= steps; ++t) {
        double squares = 0;
        for (const double each : x) squares += factor * each * factor * each;
        const double clip = std::min(1.0, 2 / (std::sqrt(squares) + 1e-6));
        for (std::size_t i = 0; i < 4; ++i) {
            m[i] = 0.5 * m[i] + clip * factor * x[i] + decay * x[i];
            x[i] -= rate * m[i];
        }
    }
    close(device_result({.optimizer = Optimizer::sgd, .momentum = 0.5, .weight_decay = decay, .max_norm = 2}), x);
}

TEST_CASE("updates of what does not fit are refused", "[train][bad]") {
    Graph g;
    const Tensor x = g.input("x", {1, 4}), w = g.weight("w", {4, 1}), h = g.state("h", {4, 1}, DType::f16);
    const Tensor loss = g.reshape(matmul(x, w), {1});
    const std::vector<Tensor> of{w}, no{x}, half{h}, empty{Tensor()};
    const std::vector<Tensor> made = gradients(loss, of);
    const std::vector<float> rates{0.1F};
    const auto refuses = [](std::initializer_list<const char*> parts, const auto& run) {
        expect_error(ErrorKind::usage, parts, run);
    };
    refuses({"1 parameters and 0 gradients"}, [&] { update(of, {}, rates); });
    refuses({"neither a weight nor a state"}, [&] { update(no, made, rates); });
    refuses({"h is not f32"}, [&] { update(half, made, rates); });
    const Tensor other = Graph().weight("other", {4, 1});
    refuses({"parameter 0", "another graph"}, [&] { update(of, std::vector{other}, rates); });
    refuses({"parameter 0 is an empty tensor"}, [&] { update(empty, made, rates); });
    refuses({"all gradients are empty"}, [&] { update(of, empty, rates); });
    refuses({"rates"}, [&] { update(of, made, {}); });
    refuses({"momentum", "adamw"}, [&] { update(of, made, rates, {.momentum = 0.5}); });
    refuses({"beta1", "0.99999"}, [&] { update(of, made, rates, {.beta1 = 1}); });
    refuses({"eps", "-1"}, [&] { update(of, made, rates, {.eps = -1}); });
}
