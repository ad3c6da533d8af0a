#include "viewer/data/value_range.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "runtime/base/format.h"

namespace vantage::view {

namespace {
constexpr double lowest_max = 1e-7,
                 highest_max = 1e6;  // weights times values and over means are beyond 1, those of long texts tiny
constexpr double nearest = 0.99;     // share of the bright end that the dark one reaches
}  // namespace

float position_of(double value, const ValueRange& range, AttentionScale scale) {
    return position_of(static_cast<float>(value), static_cast<float>(range.max), scale, static_cast<float>(range.min));
}

float value_at(double position, const ValueRange& range, AttentionScale scale) {
    return value_at(static_cast<float>(position), static_cast<float>(range.max), scale, static_cast<float>(range.min));
}

float signed_position(float difference, double max, AttentionScale scale) {
    return std::copysign(position_of(std::abs(difference), static_cast<float>(max), scale), difference);
}

ValueRange with_end(const ValueRange& bar, BarEnd end, double position, AttentionScale scale) {
    const double rounded = std::strtod(format("{:.3g}", value_at(position, bar, scale)).c_str(), nullptr);
    if (end == BarEnd::dark) return {std::clamp(rounded, 0.0, nearest * bar.max), bar.max};
    return {bar.min, std::clamp(rounded, std::max(lowest_max, bar.min / nearest), highest_max)};
}

ValueRange with_default_end(ValueRange range, BarEnd end, const ValueRange& defaults) {
    (end == BarEnd::dark ? range.min : range.max) = end == BarEnd::dark ? defaults.min : defaults.max;
    return range.min < range.max ? range : defaults;
}

}  // namespace vantage::view
