// Positions: what the mathematics says of sinusoids and rotations, and frequencies as transformers computes them.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "runtime/graph/op_def.h"
#include "runtime/ops/rope.h"
#include "tests/host/expect_error.h"
#include "vantage/ops.h"

using namespace vantage;
using vantage::test::expect_error;

namespace {

HostTensor table_of(Graph& graph, std::int64_t positions, std::int64_t rotary, double theta,
                    const RopeScaling& scaling = {}) {
    const Tensor table = rope_table(graph, positions, rotary, theta, scaling);
    return widen(table.type(), graph.value(table.id()).data());
}

// x at position `position`, by the op's reference.
std::vector<double> rotated(const std::vector<double>& x, const HostTensor& table, std::int64_t position,
                            bool interleaved) {
    HostTensor row({Shape{1, 1, static_cast<std::int64_t>(x.size())}, DType::f32}), at({Shape{1}, DType::i32});
    row.data = x;
    at[0] = static_cast<double>(position);
    OpCall call{.op = &rope_op,
                .attrs = {{"interleaved", interleaved}},
                .inputs = {row.type, table.type, at.type, {}},
                .outputs = {},
                .where = {}};
    call.outputs = call.op->infer(call);
    const std::vector<HostTensor> inputs{row, table, at, {}};
    std::vector<HostTensor> outputs{HostTensor(call.outputs[0])};
    call.op->reference(call, inputs, outputs);
    return outputs[0].data;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

void check_frequencies(const RopeScaling& scaling, double theta, const std::vector<double>& want) {
    const std::vector<double> got = rope_frequencies(2 * static_cast<std::int64_t>(want.size()), theta, scaling);
    REQUIRE(got.size() == want.size());
    for (std::size_t i = 0; i < want.size(); ++i) CHECK(got[i] == Catch::Approx(want[i]).epsilon(2e-7));
}

}  // namespace

TEST_CASE("the sinusoids of position p + k are those of p, rotated by an angle that only k decides", "[positions]") {
    const std::int64_t n = 64, dim = 30, half = dim / 2;
    for (bool interleaved : {true, false}) {
        const std::vector<float> table = sinusoidal_table(n, dim, 10000, interleaved);
        const auto at = [&](std::int64_t p, std::int64_t i, bool cosine) {
            const std::int64_t col = interleaved ? 2 * i + (cosine ? 1 : 0) : i + (cosine ? half : 0);
            return static_cast<double>(table[static_cast<std::size_t>(p * dim + col)]);
        };
        double worst = 0;
        for (std::int64_t i = 0; i < half; ++i)
            for (std::int64_t k : {1, 5, 31})
                for (std::int64_t p = 0; p + k < n; ++p) {
                    const double angle = static_cast<double>(k) *
                                         std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(dim));
                    const double c = std::cos(angle), s = std::sin(angle);
                    worst = std::max(worst, std::abs(at(p + k, i, false) - (c * at(p, i, false) + s * at(p, i, true))));
                    worst = std::max(worst, std::abs(at(p + k, i, true) - (c * at(p, i, true) - s * at(p, i, false))));
                }
        CHECK(worst < 3e-7);
        CHECK(at(0, 3, false) == 0);
        CHECK(at(0, 3, true) == 1);
    }
    CHECK(sinusoidal_table(2, 3, 10000, true)[5] == Catch::Approx(std::sin(std::pow(10000.0, -2.0 / 3.0))));
}

TEST_CASE("rotated queries and keys depend on the distance of their positions only", "[positions]") {
    std::mt19937 random(5);
    std::normal_distribution<double> normal;
    std::vector<double> q(24), k(24);
    for (double& value : q) value = normal(random);
    for (double& value : k) value = normal(random);
    Graph graph;
    for (std::int64_t rotary : {24, 8})
        for (bool interleaved : {false, true}) {
            const HostTensor table = table_of(graph, 4200, rotary, 10000);
            const double near = dot(rotated(q, table, 12, interleaved), rotated(k, table, 5, interleaved));
            const double far = dot(rotated(q, table, 4107, interleaved), rotated(k, table, 4100, interleaved));
            const double other = dot(rotated(q, table, 13, interleaved), rotated(k, table, 5, interleaved));
            CHECK(near == Catch::Approx(far).margin(1e-5));
            CHECK(std::abs(near - other) > 1e-2);
            const std::vector<double> turned = rotated(q, table, 777, interleaved);
            CHECK(dot(turned, turned) == Catch::Approx(dot(q, q)).epsilon(1e-6));
            CHECK(std::vector<double>(turned.begin() + rotary, turned.end()) ==
                  std::vector<double>(q.begin() + rotary, q.end()));
        }
}

TEST_CASE("scaled rotary frequencies are those of transformers", "[positions]") {
    check_frequencies({}, 10000, {1, 0.1, 0.01, 0.001});
    check_frequencies({.type = "linear", .factor = 4}, 10000,
                      {0.25, 0.116039723, 0.0538608655, 0.0250000004, 0.0116039719, 0.00538608665, 0.00249999994,
                       0.00116039719, 0.0005386087, 0.000250000012, 0.000116039722, 5.38608656e-05});
    check_frequencies(
        {.type = "llama3", .factor = 8, .low_freq_factor = 1, .high_freq_factor = 4, .original_context = 64}, 500000,
        {1, 0.277632773, 0.0187231954, 0.00470075384, 0.00157490128, 0.000527641794, 0.000176776695, 5.92257857e-05,
         1.98425132e-05, 6.64786967e-06, 2.2272468e-06, 7.46198168e-07});
    check_frequencies({.type = "yarn", .factor = 4, .original_context = 64, .truncate = false}, 10000,
                      {1, 0.349040121, 0.108576678, 0.0255952459, 0.0116039719, 0.00538608665, 0.00249999994,
                       0.00116039719, 0.0005386087, 0.000250000012, 0.000116039722, 5.38608656e-05});
}

TEST_CASE("a rotary table has cosines, then sines, and is made once", "[positions]") {
    Graph graph;
    const HostTensor plain = table_of(graph, 9, 6, 100),
                     yarn = table_of(graph, 9, 6, 100, {.type = "yarn", .factor = 4});
    CHECK(plain.type.shape == Shape{9, 6});
    const double angle = 7 * std::pow(100.0, -1.0 / 3.0);
    CHECK(plain[7 * 6 + 1] == Catch::Approx(std::cos(angle)).margin(1e-7));
    CHECK(plain[7 * 6 + 4] == Catch::Approx(std::sin(angle)).margin(1e-7));
    CHECK(yarn[0] == Catch::Approx(1.138629436111989));
    const std::size_t values = graph.values().size();
    CHECK(rope_table(graph, 9, 6, 100).id() == rope_table(graph, 9, 6, 100).id());
    CHECK(graph.values().size() == values);
    CHECK(sinusoidal_positions(graph, 4, 6).id() == sinusoidal_positions(graph, 4, 6).id());
    CHECK(rope_table(graph, 9, 6, 101).id() != rope_table(graph, 9, 6, 100).id());
}

TEST_CASE("positions that make no sense are refused", "[positions]") {
    Graph graph;
    expect_error(ErrorKind::usage, {"rotary_dim is 7"}, [&] { rope_frequencies(7, 10000); });
    expect_error(ErrorKind::usage, {"theta is 0"}, [&] { rope_frequencies(8, 0); });
    expect_error(ErrorKind::unsupported, {"spiral", "llama3"}, [&] { rope_frequencies(8, 10000, {.type = "spiral"}); });
    expect_error(ErrorKind::usage, {"longrope", "3 factors", "4 pairs"}, [&] {
        rope_frequencies(8, 10000, {.type = "longrope", .factors = {1, 2, 3}});
    });
    expect_error(ErrorKind::usage, {"sinusoidal_positions", "dim = 5"}, [&] { sinusoidal_table(3, 5, 10000, false); });
    const Tensor x = graph.input("x", {4, 2, 8}), table = rope_table(graph, 4, 8, 10000),
                 wide = rope_table(graph, 4, 16, 10000);
    const Tensor ids = graph.input("ids", {3}, DType::i32), w = graph.weight("w", {10, 8}),
                 places = graph.weight("places", {2, 8});
    expect_error(ErrorKind::usage, {"rope: table is f32 [4, 16]", "x f32 [4, 2, 8]"}, [&] { rope(x, wide, {}); });
    expect_error(ErrorKind::usage, {"rope: positions is i32 [3]"}, [&] { rope(x, table, {.positions = ids}); });
    expect_error(ErrorKind::usage, {"embedding: positions is f32 [2, 8]", "position 2"},
                 [&] { embedding(ids, w, places); });
    expect_error(ErrorKind::usage, {"embedding: w is i32 [3]"}, [&] { embedding(ids, ids); });
    expect_error(ErrorKind::usage, {"write: rows is f32 [4, 2, 8]", "[5, 7]"}, [&] {
        write(graph.state("cache", {5, 7}, DType::f16), x, graph.state("step", {32}, DType::u32));
    });
}
