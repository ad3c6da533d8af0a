// How a loss falls with the size of a model, its data or its compute, over several runs.
#pragma once

#include <optional>
#include <span>

namespace vantage::internal {

/// loss(x) = floor + factor · x^-exponent
struct PowerLaw {
    double floor = 0, factor = 0, exponent = 0;
    double worst = 0;  ///< the largest relative error over the runs
    double at(double x) const;
};

/// The line of least squares through (ln x, ln (loss - floor)) (Kaplan et al. 2020), with the floor of the least
/// squared error of ln loss (Hoffmann et al. 2022) from four different x on, and else 0. Nothing for fewer than two
/// different x, and for values that are not above 0.
std::optional<PowerLaw> fit_power_law(std::span<const double> x, std::span<const double> loss);

}  // namespace vantage::internal
