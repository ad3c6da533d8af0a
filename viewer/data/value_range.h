// The ends of a colour bar, and how they move.
#pragma once

#include <cstdint>

#include "runtime/picture/attention_scale.h"

namespace vantage::view {

struct ValueRange {
    double min = 0, max = 1;
    bool operator==(const ValueRange&) const = default;
};

enum class BarEnd : std::uint8_t { dark, bright };

/// With one end where `position` is on the bar (0: its dark end, 1: its bright end, beyond both as the scale goes on), in three
/// digits. The dark end stays below the bright one.
ValueRange with_end(const ValueRange& bar, BarEnd end, double position, AttentionScale scale);
/// With one end as usual; both where they would cross.
ValueRange with_default_end(ValueRange range, BarEnd end, const ValueRange& defaults);

}  // namespace vantage::view
