// One head, step by step: A against the weights that a session recorded and that PyTorch computed, Y against A V, x
// against the residual stream, and what is refused.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "oracle_model.h"
#include "runtime/session/head_steps.h"
#include "test_model.h"
#include "tests/host/expect_error.h"

using namespace vantage;
using Catch::Approx;

namespace {

Model oracle(const std::string& name) { return Model::load(test_device(), test::oracle_models + name); }
SafeTensors expected_of(const std::string& name) {
    return SafeTensors(test::oracle_models + name + "/expected.safetensors");
}

/// The weights of a head from a file's [layers, heads, n, m].
std::vector<float> weights_in(const TensorEntry& attention, const HeadId& head) {
    const std::vector<float> all = test::values_of<float>(attention);
    const auto each = static_cast<std::size_t>(attention.shape[2] * attention.shape[3]);
    const auto at =
        static_cast<std::ptrdiff_t>(static_cast<std::size_t>(head.layer * attention.shape[1] + head.head) * each);
    return {all.begin() + at, all.begin() + at + static_cast<std::ptrdiff_t>(each)};
}

void check_steps(const HeadSteps& steps, std::span<const float> weights) {
    CHECK(test::difference(steps.weights.values(), weights).first < 5e-6);
    const std::int64_t n = steps.weights.shape()[0], m = steps.weights.shape()[1], width = steps.v.shape()[1];
    REQUIRE(steps.output.shape() == Shape{n, width});
    double worst = 0;
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t d = 0; d < width; ++d) {
            double sum = 0;
            for (std::int64_t j = 0; j < m; ++j)
                sum += static_cast<double>(steps.weights(i, j)) * static_cast<double>(steps.v(j, d));
            worst = std::fmax(worst, std::abs(sum - static_cast<double>(steps.output(i, d))));
        }
    CHECK(worst < 1e-6);
    CHECK(steps.difference < 1e-5);
    double raw = 0;
    for (std::int64_t d = 0; d < steps.q.shape()[1]; ++d)
        raw += static_cast<double>(steps.q(n - 1, d)) * static_cast<double>(steps.k(0, d));
    CHECK(static_cast<double>(steps.scores(n - 1, 0)) == Approx(raw).margin(1e-5));
}

}  // namespace

// Packed and separate projections, rotation, grouped heads, windows, soft-caps, slopes, sinks, both directions, blocks
// that count several times; prompts of more than one chunk.
TEST_CASE("the steps of a head give the weights that PyTorch computed", "[steps]") {
    for (const char* name : {"gpt2", "llama", "mistral", "gemma2", "bloom", "gpt_oss", "bert", "big_bird", "falcon"}) {
        INFO(name);
        const Model model = oracle(name);
        const SafeTensors file = expected_of(name);
        const auto ids = test::values_of<std::int32_t>(file.at("p2.input_ids"));
        const HeadId head{model.info().layers - 1, model.info().heads - 1};
        std::vector<std::int32_t> types;
        if (const TensorEntry* entry = file.find("p2.token_type_ids")) types = test::values_of<std::int32_t>(*entry);
        const HeadSteps steps = head_steps(model, {.precision = Precision::f32}, {.ids = ids, .types = types}, head);
        REQUIRE(steps.x.shape() == Shape{std::ssize(ids), model.info().width});
        check_steps(steps, weights_in(file.at("p2.attn"), head));
        const bool turns_nothing = name == std::string("gpt2") || name == std::string("bloom") ||
                                   name == std::string("bert") || name == std::string("big_bird");
        CHECK(steps.rotated == !turns_nothing);
    }
}

TEST_CASE("the steps of an encoder–decoder's heads are those of its three attentions", "[steps]") {
    for (const char* name : {"bart", "t5"}) {
        INFO(name);
        const Model model = oracle(name);
        const SafeTensors file = expected_of(name);
        const auto read = test::values_of<std::int32_t>(file.at("p2.input_ids")),
                   written = test::values_of<std::int32_t>(file.at("p2.decoder_input_ids"));
        for (const auto& [kind, tensor] : {std::pair(AttentionKind::encoder, "p2.encoder_attn"),
                                           {AttentionKind::self, "p2.decoder_attn"},
                                           {AttentionKind::cross, "p2.cross_attn"}}) {
            INFO(tensor);
            const HeadId head{1, 1, kind};
            check_steps(head_steps(model, {.precision = Precision::f32}, {.ids = written, .source = read}, head),
                        weights_in(file.at(tensor), head));
        }
    }
}

TEST_CASE("the first step is what the projections read", "[steps]") {
    const Model bert = oracle("bert");  // post-norm: the residual stream
    const std::vector<std::int32_t> ids = some_ids(9, bert.info().vocab);
    Session session(bert, {.precision = Precision::f32, .inspect = true});
    session.append(ids);
    session.run();
    const HeadSteps steps = head_steps(bert, {.precision = Precision::f32}, {.ids = ids}, {1, 0});
    CHECK(test::difference(steps.x.values(), session.hidden().row(1).values()).first < 1e-5);
    // pre-norm: rows of the norm have variance γ², and are the same for all heads of the layer
    const HeadSteps one = head_steps(mini_world(), {.precision = Precision::f32}, {.ids = some_ids(9)}, {2, 3}),
                    other = head_steps(mini_world(), {.precision = Precision::f32}, {.ids = some_ids(9)}, {2, 4});
    CHECK(test::difference(one.x.values(), other.x.values()).first == 0);
    CHECK(test::difference(one.q.values(), other.q.values()).first > 0);
}

TEST_CASE("the stages of attention are softmaxes of x·x, of one metric, of q·k, and the head's own weights",
          "[steps]") {
    const HeadSteps steps = head_steps(mini_world(), {.precision = Precision::f32}, {.ids = some_ids(7)}, {1, 2});
    const AttentionStages stages = attention_stages(steps);
    const auto weight = [&](const Array& a, const Array& b, double scale, std::int64_t i, std::int64_t j) {
        double sum = 0, wanted = 0;
        for (std::int64_t key = 0; key <= i; ++key) {  // causal
            double score = 0;
            for (std::int64_t d = 0; d < a.shape()[1]; ++d)
                score += scale * static_cast<double>(a(i, d)) * static_cast<double>(b(key, d));
            sum += std::exp(score - 200);  // x·x is about 128
            if (key == j) wanted = std::exp(score - 200);
        }
        return wanted / sum;
    };
    for (const auto& [i, j] : {std::pair{6, 2}, {4, 4}, {3, 0}}) {
        CHECK(static_cast<double>(stages.raw(i, j)) == Approx(weight(steps.x, steps.x, 1, i, j)).margin(1e-5));
        CHECK(static_cast<double>(stages.metric(i, j)) == Approx(weight(steps.q, steps.q, 1, i, j)).margin(1e-5));
        CHECK(static_cast<double>(stages.matched(i, j)) == Approx(weight(steps.q, steps.k, 1, i, j)).margin(1e-5));
        CHECK(static_cast<double>(stages.full(i, j)) == Approx(weight(steps.q, steps.k, 0.25, i, j)).margin(1e-5));
    }
    CHECK(stages.raw(2, 5) == 0);
}

TEST_CASE("steps are refused for heads that are not there and for global tokens", "[steps]") {
    test::expect_error(ErrorKind::usage, {"has no head 4.0", "layers 0 … 3"}, [] {
        head_steps(mini_world(), {}, {.ids = some_ids(3)}, {4, 0});
    });
    test::expect_error(ErrorKind::unsupported, {"global tokens"}, [] {
        const Model model = oracle("longformer");
        head_steps(model, {.precision = Precision::f32, .global_tokens = 1}, {.ids = some_ids(4, model.info().vocab)},
                   {0, 0});
    });
}
