#include "viewer/panels/colour_ends.h"

namespace vantage::view {

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
