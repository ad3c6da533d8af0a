// What went wrong before a softmax shows behind it, by every kernel, and stays in its row.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "runtime/graph/op_def.h"
#include "test_device.h"
#include "vantage/ops.h"
#include "vantage/plan.h"

using namespace vantage;

TEST_CASE("softmax leaves NaN where NaN was, and an infinite score makes no weights", "[softmax]") {
    constexpr std::size_t rows = 4, cols = 256, wrong = 77;
    const auto at = [](std::size_t row, std::size_t col) { return row * cols + col; };
    std::vector<float> x(rows * cols);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
    x[at(1, wrong)] = std::nanf("");
    x[at(2, wrong)] = std::numeric_limits<float>::infinity();
    for (const Kernel& kernel : find_op("softmax")->kernels) {
        INFO(kernel.name);
        Graph g;
        g.output("y", softmax(g.input("x", {rows, cols})));
        Plan plan(std::move(g), test_device(), {.guard = true, .kernel = kernel.name});
        plan.write("x", x);
        plan.run();
        const std::vector<float> y = plan.read("y").vector();
        CHECK(std::isnan(y[at(1, wrong)]));
        CHECK(std::isnan(y[at(2, wrong)]));
        for (const std::size_t row : {0u, 3u}) {
            double sum = 0;
            for (std::size_t col = 0; col < cols; ++col) sum += static_cast<double>(y[at(row, col)]);
            CHECK(sum == Catch::Approx(1).margin(1e-6));
        }
        for (const std::size_t row : {1u, 2u})
            for (std::size_t col = 0; col < cols; ++col)
                if (col != wrong) CHECK(!(y[at(row, col)] > 0));
    }
}
