#include "runtime/train/scaling_law.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "runtime/base/errors.h"

namespace vantage::internal {

namespace {

double squared_error(const PowerLaw& law, std::span<const double> x, std::span<const double> loss) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += std::pow(std::log(law.at(x[i]) / loss[i]), 2);
    return sum;
}

// The line through (ln x, ln (loss - floor)).
PowerLaw with_floor(double floor, std::span<const double> x, std::span<const double> loss) {
    const auto count = static_cast<double>(x.size());
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
        mean_x += std::log(x[i]) / count, mean_y += std::log(loss[i] - floor) / count;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double dx = std::log(x[i]) - mean_x;
        xx += dx * dx, xy += dx * (std::log(loss[i] - floor) - mean_y);
    }
    const double slope = xy / xx;
    return {.floor = floor, .factor = std::exp(mean_y - slope * mean_x), .exponent = -slope};
}

// Golden sections over floors below the least loss. The grid in front of it finds the right valley.
PowerLaw with_fitted_floor(std::span<const double> x, std::span<const double> loss) {
    const double least = *std::ranges::min_element(loss);
    constexpr int steps = 200, sections = 60;
    const auto error = [&](double floor) { return squared_error(with_floor(floor, x, loss), x, loss); };
    int best = 0;
    for (int i = 1; i < steps; ++i)
        if (error(least * i / steps) < error(least * best / steps)) best = i;
    double low = least * std::max(best - 1, 0) / steps, high = least * std::min(best + 1, steps) / steps;
    const double section = (std::sqrt(5.0) - 1) / 2;
    for (int i = 0; i < sections; ++i) {
        const double left = high - section * (high - low), right = low + section * (high - low);
        if (error(left) < error(right))
            high = right;
        else
            low = left;
    }
    return with_floor(low, x, loss);
}

}  // namespace

double PowerLaw::at(double x) const { return floor + factor * std::pow(x, -exponent); }

std::optional<PowerLaw> fit_power_law(std::span<const double> x, std::span<const double> loss) {
    if (x.size() != loss.size()) throw usage_error("fit_power_law: {} sizes, {} losses", x.size(), loss.size());
    const auto fits = [](double value) { return std::isfinite(value) && value > 0; };
    if (!std::ranges::all_of(x, fits) || !std::ranges::all_of(loss, fits)) return std::nullopt;
    const std::size_t different = std::set<double>(x.begin(), x.end()).size();
    if (different < 2) return std::nullopt;
    PowerLaw law = different < 4 ? with_floor(0, x, loss) : with_fitted_floor(x, loss);
    for (std::size_t i = 0; i < x.size(); ++i) law.worst = std::max(law.worst, std::abs(law.at(x[i]) / loss[i] - 1));
    return law;
}

}  // namespace vantage::internal
