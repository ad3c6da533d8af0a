// Scales that map weights to positions on the colour bar, and the ticks of the bar.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/picture/word.h"

namespace vantage::internal {

/// Most softmax weights are small. The square root (the default) shows them without hiding large ones.
enum class AttentionScale : std::uint8_t { square_root, linear, logarithmic };

/// The smallest share of the maximum that the logarithmic scale distinguishes from zero.
inline constexpr float logarithmic_floor = 1e-4f;

/// Words of options. Labels use name_of.
inline constexpr Word<AttentionScale> attention_scale_words[] = {
    {AttentionScale::linear, "linear"}, {AttentionScale::square_root, "sqrt"}, {AttentionScale::logarithmic, "log"}};
/// For labels: "√", "linear", "log".
const char* name_of(AttentionScale scale);

/// Position of a weight on the colour bar: 0 at `value_min` and below, 1 at `value_max` and above. NaN gives 0.
/// `value_min` cuts the scale off; it does not change its shape.
float position_of(float value, float value_max, AttentionScale scale, float value_min = 0);
/// The weight at a position of the bar: the inverse of position_of, extrapolated outside [0, 1].
float value_at(float position, float value_max, AttentionScale scale, float value_min = 0);

/// The end of a bar for all of these values, at least one: the largest; 1 where that is 0 or below, as for heads that
/// read nothing.
float scale_end(std::span<const float> values);

struct ScaleTick {
    float value = 0, position = 0;
    std::string text;
};
/// The ticks of a bar in ascending order.
std::vector<ScaleTick> scale_ticks(float value_max, AttentionScale scale, float value_min = 0);
/// A weight with at most `digits` decimals and without trailing zeros: "0.25", "1", "1e-4".
std::string weight_text(float value, int digits);
/// A weight in a cell: two decimals without the leading zero; empty if they were 0.
std::string cell_text(float value);

}  // namespace vantage::internal
