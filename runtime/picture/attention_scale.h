// How a weight becomes a colour, and what is written beside the colour bar.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vantage {

/// With a softmax most weights are small: the square root shows them without hiding what is large.
enum class AttentionScale : std::uint8_t { square_root, linear, logarithmic };

/// The smallest share of the maximum that the logarithmic scale still tells from zero.
inline constexpr float logarithmic_floor = 1e-4f;

const char* name_of(AttentionScale scale);                                   ///< "√", "linear", "log"
std::optional<AttentionScale> attention_scale_named(std::string_view name);  ///< "sqrt", "linear", "log"

/// Where a weight lies on the colour bar: 0 at its dark end and below, 1 at `value_max` and beyond. NaN gives 0. The scale is the
/// same wherever the dark end is: this only cuts it off.
float position_of(float value, float value_max, AttentionScale scale, float value_min = 0);
/// The weight at a place of the bar: the inverse, and beyond both ends as the scale goes on.
float value_at(float position, float value_max, AttentionScale scale, float value_min = 0);

struct ScaleTick {
    float value = 0, position = 0;
    std::string text;
};
/// The marks of a bar, from its dark end on.
std::vector<ScaleTick> scale_ticks(float value_max, AttentionScale scale, float value_min = 0);
/// A weight in at most `digits` digits after the point, without zeros that say nothing: "0.25", "1", "1e-4".
std::string weight_text(float value, int digits);

}  // namespace vantage
