// The panel that arrow keys, Enter, Home and End act in after Tab.
#pragma once

#include <cstdint>

#include "viewer/panels/actions.h"

namespace vantage::view {

/// In the order of Tab.
enum class Area : std::uint8_t { map, bar, heads, numbers, text, time, prompt, temperature, top_p, seed, length, run };
inline constexpr int area_count = 12;

inline constexpr int max_seed = 999999, max_length = 100000;  // of the sampling fields

/// Selects the next or previous visible area and leaves a text field.
void next_area(Viewer& view, int step);
/// A character typed while a number field has the keys. Returns true for a digit or a point, which the field takes.
bool type_digit(Viewer& view, char32_t character);
/// Handles a key in the active area; false if the area does not use it.
bool act_in_area(Viewer& view, const Shortcut& shortcut);

}  // namespace vantage::view
