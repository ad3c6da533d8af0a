// What the arrow keys, Enter, Home and End act in, once Tab has been pressed.
#pragma once

#include <cstdint>

#include "viewer/panels/actions.h"

namespace vantage::view {

/// In the order of Tab.
enum class Area : std::uint8_t { map, bar, heads, numbers, text, time, prompt, temperature, top_p, seed, length, run };
inline constexpr int area_count = 12;

inline constexpr int max_seed = 999999, max_length = 100000;  // what the sampling controls reach

/// The next area that is on the screen, or the one before; leaves a text that is being typed.
void next_area(ViewCommands& view, int step);
/// A character that is typed where a number has the keys: true for a digit or a point, with which the number begins anew or goes on.
bool type_digit(ViewCommands& view, char32_t character);
/// What a key does in the area that has the keys; false where it has no use for it.
bool act_in_area(ViewCommands& view, const Shortcut& shortcut);

}  // namespace vantage::view
