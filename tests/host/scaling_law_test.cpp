// Power laws of losses over runs.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <vector>

#include "runtime/train/scaling_law.h"

using namespace vantage::internal;

namespace {
bool near(double a, double b, double relative) { return std::abs(a - b) <= relative * std::abs(b); }
}  // namespace

TEST_CASE("a power law is found again, with the constants of Hoffmann et al. (2022)", "[train]") {
    std::vector<double> sizes, losses, noisy;
    for (const double size : {44e6, 117e6, 250e6, 425e6, 1.4e9, 2.8e9, 6.8e9, 16.2e9}) {
        sizes.push_back(size), losses.push_back(1.69 + 406.4 * std::pow(size, -0.34));
        noisy.push_back(losses.back() * (sizes.size() % 2 == 0 ? 1.001 : 0.999));
    }
    const PowerLaw law = fit_power_law(sizes, losses).value();
    CHECK(near(law.floor, 1.69, 1e-4));
    CHECK(near(law.factor, 406.4, 1e-2));
    CHECK(near(law.exponent, 0.34, 1e-3));
    CHECK(law.worst < 1e-6);
    const PowerLaw rough = fit_power_law(sizes, noisy).value();
    CHECK((near(rough.floor, 1.69, 0.02) && near(rough.exponent, 0.34, 0.1) && rough.worst < 2e-3));
    CHECK(rough.worst > 5e-4);
}

TEST_CASE("fewer than four sizes have no floor, and one has no law", "[train]") {
    const std::vector<double> two{1e6, 4e6}, losses{4, 2};
    const PowerLaw law = fit_power_law(two, losses).value();
    CHECK((law.floor == 0 && near(law.exponent, 0.5, 1e-12) && near(law.factor, 4e3, 1e-9) && law.worst < 1e-12));
    CHECK(near(law.at(16e6), 1, 1e-9));
    const std::vector<double> same{1e6, 1e6}, zero{4, 0}, infinite{4, INFINITY};
    CHECK(!fit_power_law(same, losses));
    CHECK(!fit_power_law(two, zero));
    CHECK(!fit_power_law(two, infinite));
    CHECK(!fit_power_law({}, {}));
}

TEST_CASE("a loss that does not fall by a law has one with a small exponent", "[train]") {
    const std::vector<double> sizes{1, 10, 100, 1000, 10000}, losses{3, 3, 3, 3, 3};
    const PowerLaw law = fit_power_law(sizes, losses).value();
    CHECK(near(law.at(1e6), 3, 1e-6));
}
