// Steps that several keys share: as actions, or in the active area.
#pragma once

#include "viewer/panels/ui.h"

namespace vantage::view {

/// Focuses a head; nothing: the suggested one.
void go_to_head(Viewer& view, const std::optional<HeadId>& head);
/// Focuses the suggested head and says why it is suggested.
void go_to_suggested_head(Viewer& view);
/// Resets what has another meaning for the new kind of attention: pins, the selected cell, the zoom, the time.
void forget_misfits(ViewState& state, Interaction& at, AttentionKind before, AttentionKind now);

/// Moves the visible part so that it has the cell.
void scroll_to(Viewer& view, std::int64_t row, std::int64_t column);
/// The selected cell; by default the last one of the newest row.
Cell picked(const Viewer& view);
/// Moves the selection by rows and columns.
void nudge(Viewer& view, std::int64_t rows, std::int64_t columns);
/// Adds or removes a pin.
void toggle_pin(ViewState& state, const Pin& pin);
/// Pins the selected cell's query or key.
void pin_picked(Viewer& view, Pin::Kind kind);
/// Pins the next row that does not sum to 1 and scrolls to it.
void go_to_off_row(Viewer& view);
/// The state after so many of all rows; live after all of them.
void show_rows(ViewState& state, std::int64_t rows, std::int64_t all);
void go_to_row(Viewer& view, std::int64_t rows);
/// Enlarges (1) or shrinks (-1) the focused panel: Heads, Text or the map. The map is sized by the panels beside it.
void resize_panel(Viewer& view, int step);
/// Moves an end of the colour bar up by `steps` twentieths of the bar.
void move_end(Viewer& view, BarEnd end, int steps);

}  // namespace vantage::view
