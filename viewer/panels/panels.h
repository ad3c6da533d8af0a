// The panels. Each draws itself into its box of the layout and changes state and interaction when something is clicked.
// Each takes a structure with what it needs.
#pragma once

#include "viewer/panels/run_view.h"
#include "viewer/panels/ui.h"

namespace vantage::view {

class Viewer;

// ---- the menu bar

struct StatusUi : Ui {
    const RunView& run;
    const Figures& figures;
    std::int64_t all_rows;
};
void draw_status_bar(StatusUi ui);
/// In place of all panels.
void draw_too_small(const Ui& ui);

// ---- heads

struct HeadMapUi : Ui {
    const RunView& run;
    const FocusedHead& focus;
    std::span<const HeadMeans> heads;  ///< of run.live.heads()
    const Surface& surface;
};
void draw_head_map(HeadMapUi ui);
/// Layers and heads of a model as the head map shows them.
HeadGrid head_grid(const LiveModel& live);
/// Cells of the head map row by row: an index into LiveModel::heads() each, in the model's order or by value, largest
/// first. Layers with fewer heads leave cells empty.
using HeadOrderCells = std::vector<std::optional<std::size_t>>;
HeadOrderCells head_cells(const LiveModel& live, const ViewState& state, std::span<const HeadMeans> numbers);

struct NumbersUi : Ui {
    const RunView& run;
    const FocusedHead& focus;
    std::span<const HeadMeans> heads;
};
/// Statistics of the head in focus. A click on one colours the head map by it.
void draw_numbers(NumbersUi ui);

// ---- the map

struct FocusUi : Ui {
    const RunView& run;
    const FocusedHead& focus;
    const ValueRange& default_ends;  ///< of the colour bar
    const Surface& surface;
    MapView map = {};  ///< the pane being drawn
};
void draw_focus(FocusUi ui, const std::vector<Pane>& panes);
void draw_colour_bar(FocusUi& ui, const Box& box);
/// The colour bar of differences: symmetric, 0 in the middle.
void draw_difference_bar(Ui& ui, const Box& box);
/// Hatches rows and columns where this run, or one of two, has no token.
void draw_gaps(const FocusUi& ui, ImDrawList& list, const Pane& pane);

struct InspectorUi : Ui {
    const RunView& run;
    const FocusedHead& focus;
};
void draw_inspector(InspectorUi ui);

// ---- text and time

struct TextUi : Ui {
    RunView& run;
    const FocusedHead& focus;
};
void draw_tokens(TextUi ui);

struct ImageUi : Ui {
    const RunView& run;
    const FocusedHead& focus;
    const Surface& surface;
};
/// In place of the text: the image that the model sees, with the attention of a query over it.
void draw_image(ImageUi ui);

struct TimelineUi : Ui {
    const Version& version;
    const FocusedHead& focus;
};
void draw_timeline(TimelineUi ui);

// ---- what the user asks for

struct PromptUi : Ui {
    const LiveModel& live;
    Activity activity;
    Viewer& view;
};
void draw_prompt(PromptUi ui);

void draw_help(Ui& ui, const KeyBindings& keys);
/// Scrolls the help; false for all other keys.
bool act_in_help(Interaction& at, const Shortcut& shortcut);
/// The line that finds a token.
void draw_find(Ui& ui, const std::vector<std::string>& labels, Viewer& view);
/// The frame of the panel that has the keys.
void draw_area_frame(const Ui& ui, const FocusPlaces& places);

}  // namespace vantage::view
