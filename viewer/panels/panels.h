// The panels. Each draws itself into its box of the layout, and changes state and interaction when something is clicked.
#pragma once

#include "viewer/panels/ui.h"

namespace vantage::view {

class Viewer;

void draw_status_bar(Ui& ui);
/// Instead of everything.
void draw_too_small(const Ui& ui);
void draw_head_map(Ui& ui);
void draw_focus(Ui& ui, const std::vector<Pane>& panes);
void draw_colour_bar(Ui& ui, const Box& box);
/// Of differences: both ends, and nothing in the middle.
void draw_difference_bar(Ui& ui, const Box& box);
/// Marks rows and columns of which a map shows nothing, because this run, or one of two, has no token there.
void draw_gaps(const Ui& ui, ImDrawList& list, const Pane& pane);
/// What the head in focus does, in numbers; a click on one colours the head map by it.
void draw_numbers(Ui& ui);
void draw_inspector(Ui& ui);
/// Layers and heads of a model as the head map shows them.
HeadGrid head_grid(const LiveModel& live);
/// Its cells row by row, each with the place of its head in LiveModel::heads(): by layer and number, or by value, best first. Layers
/// of few heads leave cells empty.
using HeadOrderCells = std::vector<std::optional<std::size_t>>;
HeadOrderCells head_cells(const LiveModel& live, const ViewState& state, std::span<const HeadMeans> numbers);
void draw_tokens(Ui& ui);
/// Instead of the text, what a model looks at, with what a query reads laid over it.
void draw_image(Ui& ui);
void draw_timeline(Ui& ui);
void draw_prompt(Ui& ui, Viewer& viewer);
void draw_help(Ui& ui);
/// Scrolls it; false for all other keys.
bool act_in_help(Interaction& at, const Shortcut& shortcut);
void draw_find(Ui& ui, Viewer& viewer);
/// Around what has the keys.
void draw_area_frame(const Ui& ui, const FocusPlaces& places);

}  // namespace vantage::view
