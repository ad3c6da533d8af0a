// Comparisons of what a device computed: with what a text prints, or with what an identity says.
#pragma once

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace vantage::test {

/// |got - want| <= absolute + relative |want| for every element; says which one is the worst.
inline void check_close(const std::string& what, const std::vector<float>& got, const std::vector<float>& want,
                        double absolute, double relative = 0) {
    REQUIRE(got.size() == want.size());
    double worst = -1;
    std::size_t at = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        const double error = std::abs(static_cast<double>(got[i]) - want[i]) - relative * std::abs(want[i]);
        if (!(error <= worst)) worst = error, at = i;
        if (std::isnan(worst)) break;  // the next comparison would forget it
    }
    if (got.empty()) return;
    INFO(what << ": element " << at << " is " << got[at] << ", wanted " << want[at]);
    CHECK(worst <= absolute);
}

/// Printed numbers are rounded: each may be half a unit of its last digit away. A number that lies in the middle of two
/// printed ones (1.175 is 1.18) is there in decimals only: a ten-thousandth of a unit is left for its float.
inline void check_printed(const std::string& name, const std::vector<float>& got, const std::vector<double>& printed,
                          double unit = 0.01) {
    INFO(name);
    REQUIRE(got.size() == printed.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
        INFO("element " << i << ": got " << got[i] << ", printed is " << printed[i]);
        CHECK(std::abs(static_cast<double>(got[i]) - printed[i]) <= unit * (0.5 + 1e-4));
    }
}

/// Rows of a Hadamard matrix (Sylvester 1867), d a power of two: d vectors of ±1, orthogonal to each other. Over them
/// and their negatives every feature has mean 0 and variance 1, and no two features are correlated.
inline std::vector<float> hadamard(std::size_t d) {
    std::vector<float> rows(d * d);
    for (std::size_t i = 0; i < d; ++i)
        for (std::size_t j = 0; j < d; ++j) rows[i * d + j] = std::popcount(i & j) % 2 == 0 ? 1.0F : -1.0F;
    return rows;
}

inline double mean_square(const std::vector<float>& x) {
    double sum = 0;
    for (const float value : x) sum += static_cast<double>(value) * value;
    return sum / static_cast<double>(x.size());
}

}  // namespace vantage::test
