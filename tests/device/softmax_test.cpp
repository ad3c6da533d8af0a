// What went wrong before a softmax or a sparsemax shows behind it, by every kernel, and stays in its row; and what a
// sparsemax is.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "runtime/graph/op_def.h"
#include "sheet.h"
#include "test_device.h"
#include "vantage/ops.h"
#include "vantage/plan.h"

using namespace vantage;
using vantage::test::normal, vantage::test::Sheet, vantage::test::Values;

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

TEST_CASE("sparsemax makes a row with NaN or an infinite score NaN, and no other", "[softmax]") {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    constexpr std::size_t rows = 5, cols = 301;
    const DType type = GENERATE(DType::f32, DType::f16);
    Values x = normal(rows * cols, 3);
    x[1 * cols + 77] = std::nanf("");
    x[2 * cols + 300] = infinity;
    std::fill_n(x.begin() + 3 * cols, cols, -infinity);
    for (const Kernel& kernel : find_op("sparsemax")->kernels) {
        INFO(kernel.name);
        Sheet sheet;
        sheet.graph.output("y", sparsemax(sheet.input("x", {rows, cols}, x, type)));
        const Values y = sheet.run(kernel.name).at("y");
        for (std::size_t i = 0; i < y.size(); ++i) CHECK(std::isnan(y[i]) == (i / cols == 1 || i / cols == 2));
        for (const std::size_t row : {0u, 3u, 4u}) {
            const auto first = y.begin() + static_cast<std::ptrdiff_t>(row * cols);
            const double sum = std::accumulate(first, first + cols, 0.0);
            CHECK(sum == Catch::Approx(row == 3 ? 0 : 1).margin(type == DType::f32 ? 1e-6 : 2e-3));
        }
    }
}

TEST_CASE("sparsemax is the projection onto the distributions", "[softmax]") {
    // y is nearest to x if and only if (x - y)·(e_j - y) ≤ 0 for every corner e_j (Martins and Astudillo 2016)
    constexpr std::size_t rows = 6, cols = 500;
    Values x = normal(rows * cols, 4);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] *= static_cast<float>(std::pow(10.0, i / cols) * 1e-3);
    Sheet sheet;
    const Tensor input = sheet.input("x", {rows, cols}, x);
    sheet.graph.output("y", sparsemax(input));
    sheet.graph.output("of y", sparsemax(sparsemax(input)));
    Values shifted = x;  // by a number that leaves the differences exact
    for (float& value : shifted) value = std::round(value * 1024) / 1024;
    const Tensor rounded = sheet.input("rounded", {rows, cols}, shifted);
    sheet.graph.output("rounded y", sparsemax(rounded));
    sheet.graph.output("shifted y", sparsemax(rounded + sheet.input("shift", {1}, Values{-8})));
    const auto got = sheet.run();
    for (std::size_t row = 0; row < rows; ++row) {
        const float *from = &x[row * cols], *y = &got.at("y")[row * cols];
        double along = 0, sum = 0, worst = -1e30, size = 0;
        for (std::size_t j = 0; j < cols; ++j) {
            CHECK(y[j] >= 0);
            along += (static_cast<double>(from[j]) - static_cast<double>(y[j])) * static_cast<double>(y[j]);
            sum += static_cast<double>(y[j]);
            worst = std::max(worst, static_cast<double>(from[j]) - static_cast<double>(y[j]));
            size = std::max(size, std::abs(static_cast<double>(from[j])));
        }
        // a threshold (Σ (x - max) - 1) / 500 of a sum to -4: a dozen roundings, and Vulkan divides to 2.5 ulp
        CHECK(std::abs(sum - 1) < 3e-6);
        CHECK(worst - along <= 1e-6 * (1 + size));
    }
    for (std::size_t i = 0; i < rows * cols; ++i)  // a distribution is its own projection
        CHECK(std::abs(got.at("of y")[i] - got.at("y")[i]) < 1e-6F);
    CHECK(got.at("shifted y") == got.at("rounded y"));
}
