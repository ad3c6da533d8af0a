// Small steps that several keys do: some as actions, some in the area that has the keys.
#pragma once

#include "viewer/panels/ui.h"

namespace vantage::view {

/// Another head in focus; nothing: the most telling one.
void go_to_head(ViewCommands& view, const std::optional<HeadId>& head);
/// Takes away what meant other tokens than it does for the head now in focus: pins, the picked cell, the part that is shown, and the
/// time.
void forget_misfits(ViewState& state, Interaction& at, AttentionKind before, AttentionKind now);

/// The picked cell, or one to begin with: the newest row's last.
Cell picked(const ViewCommands& view);
/// Picks the cell so many rows and columns from it.
void nudge(ViewCommands& view, std::int64_t rows, std::int64_t columns);
/// Pins it, or takes the pin away.
void toggle_pin(ViewState& state, const Pin& pin);
/// The picked cell's query or key.
void pin_picked(ViewCommands& view, Pin::Kind kind);
/// Pins the next row that does not sum to 1, and shows it.
void go_to_off_row(ViewCommands& view);
/// Back, or on, to the time of so many rows.
void go_to_row(ViewCommands& view, std::int64_t rows);
/// An end of the colour bar, so many twentieths of the bar upwards.
void move_end(ViewCommands& view, BarEnd end, int steps);

}  // namespace vantage::view
