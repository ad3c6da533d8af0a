// The ends of the colour bar and its scale while the user has not chosen others: they follow what is shown.
#pragma once

#include <optional>

#include "viewer/data/view_state.h"

namespace vantage::view {

class ColourEnds {
public:
    explicit ColourEnds(const Modifiers& modifiers)
        : ends_(default_range(modifiers)), scale_(default_scale(modifiers)) {}

    /// The ends that "reset" restores.
    const ValueRange& defaults() const { return ends_; }
    /// Changes the state's ends and scale where they are the defaults. `largest_value`: the largest ‖v‖ of the head's
    /// keys, 0 while it is unknown. Returns whether something changed.
    bool follow(ViewState& state, double largest_value);

private:
    ValueRange ends_;
    std::optional<double> stand_in_;  ///< for a maximum that is not known yet
    AttentionScale scale_;
};

/// The end of the bar of differences while the user has not chosen one: it follows what is shown.
class DifferenceEnd {
public:
    /// `shown`: the smallest good end, nothing while it is unknown. Returns whether the bar changed. While no differences
    /// are shown the state's end is 0.
    bool follow(ViewState& state, std::optional<double> shown);

private:
    double own_ = 0;  ///< that it has set
};

}  // namespace vantage::view
