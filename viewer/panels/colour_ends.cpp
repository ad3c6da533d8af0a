#include "viewer/panels/colour_ends.h"

#include <cmath>

namespace vantage::view {
namespace {

/// The next of 1, 2, 5, 10 … times a power of ten: the bar does not change with every token.
double rounded_up(double value) {
    const double power = std::pow(10, std::floor(std::log10(value)));
    for (const double step : {1.0, 2.0, 5.0})
        if (step * power >= value) return step * power;
    return 10 * power;
}

}  // namespace

bool DifferenceEnd::follow(ViewState& state, std::optional<double> shown) {
    constexpr double stand_in = 0.5;
    const double before = state.difference_max;
    if (before != 0 && before != own_) return false;  // chosen by the user
    if (state.shown != ShownRuns::difference) {
        state.difference_max = 0;
        return false;
    }
    own_ = shown ? rounded_up(*shown) : own_ > 0 ? own_ : stand_in;
    state.difference_max = own_;
    return own_ != before;
}

bool ColourEnds::follow(ViewState& state, double largest_value) {
    ValueRange ends = default_range(state.modifiers);
    if (ends.max == 0) ends.max = largest_value;
    const ValueRange before = state.range;
    const AttentionScale scale_before = state.scale;
    if (state.range.min == ends_.min) state.range.min = ends.min;
    if (state.range.max == stand_in_.value_or(ends_.max)) {  // not chosen by the user
        stand_in_ = ends.max > 0 ? std::nullopt : std::optional(state.range.max > 0 ? state.range.max : 1);
        state.range.max = stand_in_.value_or(ends.max);
    } else {
        stand_in_.reset();
    }
    if (!(state.range.min < state.range.max) && ends.max > 0) state.range = ends;
    if (state.scale == scale_) state.scale = default_scale(state.modifiers);
    ends_ = ends, scale_ = default_scale(state.modifiers);
    return before != state.range || scale_before != state.scale;
}

}  // namespace vantage::view
