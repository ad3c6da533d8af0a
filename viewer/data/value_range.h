// The range of a colour bar, and places of values on it.
#pragma once

#include <cstdint>

#include "runtime/picture/attention_scale.h"

namespace vantage::view {

struct ValueRange {
    double min = 0, max = 1;
    bool operator==(const ValueRange&) const = default;
};

/// As those of runtime/picture/attention_scale.h, on the bar of a range.
float position_of(double value, const ValueRange& range, AttentionScale scale);
float value_at(double position, const ValueRange& range, AttentionScale scale);
/// Place of a difference on a bar from −max to max: −1 to 1.
float signed_position(float difference, double max, AttentionScale scale);

enum class BarEnd : std::uint8_t { dark, bright };

/// With one end moved to `position` on the bar (0: minimum, 1: maximum; the scale continues beyond both), rounded to
/// three digits. The minimum is kept below the maximum.
ValueRange with_end(const ValueRange& bar, BarEnd end, double position, AttentionScale scale);
/// With the default of one end; of both if they would cross.
ValueRange with_default_end(ValueRange range, BarEnd end, const ValueRange& defaults);

}  // namespace vantage::view
