// The panel that arrow keys, Enter, Home and End act in after Tab.
#pragma once

#include <cstdint>
#include <string>

#include "viewer/panels/actions.h"

namespace vantage::view {

/// In the order of Tab.
enum class Area : std::uint8_t {
    map,
    bar,
    heads,
    numbers,
    text,
    time,
    prompt,
    temperature,
    top_p,
    seed,
    length,
    speed,
    run
};
inline constexpr int area_count = 13;

/// A number field beside the prompt. Its smallest value is 0.
struct NumberField {
    Area area;
    const char *name, *meaning;
    double maximum, step;
    bool whole;
    /// What it means, its range, and how to change it.
    std::string hint() const;
};
const NumberField& number_field_of(Area area);

/// Selects the next or previous visible area and leaves a text field.
void next_area(Viewer& view, int step);
/// A character typed while a number field has the keys. Returns true for a digit or a point: the field takes it, or the
/// window says what the range is.
bool type_digit(Viewer& view, char32_t character);
/// Handles a key in the active area; false if the area does not use it.
bool act_in_area(Viewer& view, const Shortcut& shortcut);

}  // namespace vantage::view
