// A rectangle in pixels.
#pragma once

#include <algorithm>

namespace vantage::view {

struct Box {
    float x = 0, y = 0, wide = 0, high = 0;
    float right() const { return x + wide; }
    float bottom() const { return y + high; }
    bool has(float px, float py) const { return px >= x && py >= y && px < right() && py < bottom(); }
    Box inset(float by) const { return {x + by, y + by, std::max(0.0f, wide - 2 * by), std::max(0.0f, high - 2 * by)}; }
    bool operator==(const Box&) const = default;
};

}  // namespace vantage::view
