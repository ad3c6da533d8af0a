// The panels. Each draws itself into its box of the layout and changes state and interaction when something is clicked.
#pragma once

#include <span>

#include "viewer/data/training_snapshots.h"
#include "viewer/panels/ui.h"

namespace vantage::view {

class Viewer;

// ---- the menu bar

void draw_status_bar(const Ui& ui);
/// In a place of its own, because it stays until the next run.
void draw_error(const Ui& ui);
/// Height of a place of this width; 0 without an error.
float error_height(const Face& face, const std::string& error, float wide, float scale);
/// In place of all panels.
void draw_too_small(const Ui& ui);

// ---- heads

void draw_head_map(const Ui& ui);
/// Layers and heads of a model as the head map shows them.
HeadGrid head_grid(const LiveModel& live);
/// Cells of the head map row by row: an index into LiveModel::heads() each, in the model's order or by value, largest
/// first. Layers with fewer heads leave cells empty.
using HeadOrderCells = std::vector<std::optional<std::size_t>>;
HeadOrderCells head_cells(const LiveModel& live, const ViewState& state, std::span<const HeadMeans> numbers);
/// Smallest and largest value of a statistic; 0 and 1 where no head has one.
std::pair<double, double> range_of(std::span<const HeadMeans> heads, HeadStatistic statistic);
/// Statistics of the head in focus. A click on one colours the head map by it.
void draw_numbers(const Ui& ui);

// ---- the map

/// Pixels from label to label of an axis, so that they do not overlap.
inline double label_pitch(const Face& face) { return static_cast<double>(face.size * 1.15f); }
/// `of_cell` is of the run whose numbers of the cell under the mouse come first.
void draw_focus(const Ui& ui, const Ui& of_cell, const std::vector<Pane>& panes);
void draw_colour_bar(const Ui& ui, const FocusPlaces& places);
/// The colour bar of differences: symmetric, 0 in the middle.
void draw_difference_bar(const Ui& ui, const Box& box);
/// Hatches rows and columns where this run, or one of two, has no token.
void draw_gaps(const Ui& ui, const Pane& pane);
void draw_inspector(const Ui& ui);

// ---- text and time

void draw_tokens(const Ui& ui);
/// In place of the text: the image that the model sees, with the attention of a query over it.
void draw_image(const Ui& ui);
void draw_timeline(const Ui& ui);

// ---- what the user asks for

void draw_prompt(const Ui& ui, Viewer& view);
/// In place of the prompt: the training steps of a model.
void draw_steps(const Ui& ui, const TrainingSnapshots& snapshots);
/// Selects a snapshot by its index. The last one means to follow the newest; so does an empty list.
void show_step(Interaction& at, std::span<const TrainingSnapshot> all, std::ptrdiff_t index);
/// The boundaries between panels, which the mouse drags.
void draw_splitters(const Ui& ui);
void draw_help(const Ui& ui);
/// Scrolls the help; false for all other keys.
bool act_in_help(Interaction& at, const Shortcut& shortcut);
/// The line that finds a token.
void draw_find(const Ui& ui, Viewer& view);
/// The frame of the panel that has the keys.
void draw_area_frame(const Ui& ui, const FocusPlaces& places);

}  // namespace vantage::view
