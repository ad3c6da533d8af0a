// The judge of all op tests: what it lets pass, and what it says.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/graph/compare.h"

using namespace vantage;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity(),
                 not_a_number = std::numeric_limits<double>::quiet_NaN();

HostTensor tensor(DType type, std::vector<double> values) {
    HostTensor t({Shape{static_cast<std::int64_t>(values.size())}, type});
    t.data = std::move(values);
    return t;
}

bool passes(DType type, std::vector<double> got, std::vector<double> want) {
    return vantage::compare("y", tensor(type, std::move(got)), tensor(type, std::move(want)), {}).passed;
}

}  // namespace

TEST_CASE("f32 is allowed an absolute and a relative error", "[compare]") {
    CHECK(passes(DType::f32, {1.00003}, {1}));
    CHECK(!passes(DType::f32, {1.00005}, {1}));
    CHECK(passes(DType::f32, {1e-5, -1e-5}, {0, 0}));
    CHECK(!passes(DType::f32, {3e-5}, {0}));
    CHECK(passes(DType::f32, {10000.1}, {10000}));
    CHECK(!passes(DType::f32, {10000.3}, {10000}));
    CHECK(passes(DType::f32, {}, {}));
}

TEST_CASE("f16 is measured against the whole tensor's size, bf16 eight times as loosely", "[compare]") {
    CHECK(passes(DType::f16, {0.006, 1}, {0, 1}));  // rms 0.7
    CHECK(!passes(DType::f16, {0.009, 0}, {0, 0.1}));
    CHECK(passes(DType::f16, {1.015}, {1}));
    CHECK(!passes(DType::f16, {1.03}, {1}));
    CHECK(passes(DType::bf16, {1.15}, {1}));
    CHECK(!passes(DType::bf16, {1.17}, {1}));
    CHECK(!passes(DType::f16, {1e-6}, {0}));                     // all zeros are wanted exactly
    CHECK(passes(DType::f16, {1.01, infinity}, {1, infinity}));  // infinities do not count for the size
    CHECK(!passes(DType::f16, {100, infinity}, {1, infinity}));
}

TEST_CASE("rounded operands are allowed more, of f32 results too", "[compare]") {
    const auto rounded = [](double got, const char* leave) {
        return vantage::compare("y", tensor(DType::f32, {got, 0}), tensor(DType::f32, {1, 0}), {}, {{leave, true}})
            .passed;
    };
    CHECK(rounded(1.015, "f16_operands"));
    CHECK(!rounded(1.02, "f16_operands"));  // rms 0.7
    CHECK(rounded(1.037, "int8_operands"));
    CHECK(!rounded(1.04, "int8_operands"));
}

TEST_CASE("large values of a model are allowed an error of their size, small ones no less than others", "[compare]") {
    const auto in_a_model = [](double got, double want, double other) {
        const HostTensor wanted = tensor(DType::f32, {want, other});
        return vantage::compare("y", tensor(DType::f32, {got, other}), wanted, tolerances_of_size({}, wanted)).passed;
    };
    CHECK(in_a_model(1e-3, 0, 100));  // rms 71: 1.4e-3
    CHECK(!in_a_model(2e-3, 0, 100));
    CHECK(in_a_model(1.9e-5, 0, 0.1));
    CHECK(!in_a_model(2.1e-5, 0, 0.1));
}

TEST_CASE("integers have to be equal", "[compare]") {
    CHECK(passes(DType::i32, {70000, -3}, {70000, -3}));
    CHECK(!passes(DType::i32, {70001}, {70000}));
    CHECK(!passes(DType::u32, {4294967295.0}, {4294967294.0}));
}

TEST_CASE("infinities match or fail, NaN always fails", "[compare]") {
    for (DType type : {DType::f32, DType::f16}) {
        CHECK(passes(type, {-infinity, 1}, {-infinity, 1}));
        CHECK(!passes(type, {infinity}, {-infinity}));
        CHECK(!passes(type, {-1e30}, {-infinity}));
        CHECK(!passes(type, {infinity}, {1}));
        CHECK(!passes(type, {not_a_number}, {1}));
        CHECK(!passes(type, {1}, {not_a_number}));
        CHECK(!passes(type, {not_a_number}, {not_a_number}));
        CHECK(!passes(type, {not_a_number}, {-infinity}));
    }
}

TEST_CASE("the message names the worst element by what it is allowed, not by its size", "[compare]") {
    HostTensor got({Shape{2, 3}, DType::f32}), want = got;
    want.data = {0, 1e6, 0, 0, 1, 0};
    got.data = {0, 1e6 + 10, 0, 0, 1.01, 0};  // 10 in a million is fine, 0.01 in 1 is not
    const Comparison c = compare("scores", got, want, {});
    CHECK(!c.passed);
    CHECK(c.wrong == 1);
    CHECK(std::abs(c.worst - 0.01) < 1e-6);
    CHECK(std::abs(c.allowed - 4e-5) < 1e-9);
    CHECK(c.message ==
          "scores[1,1] got 1.01, want 1: off by 0.01, allowed 4e-05; 1 of 6 elements wrong; scores is f32 [2, 3]");
    CHECK(compare("scores", want, want, {}).message.empty());
}
