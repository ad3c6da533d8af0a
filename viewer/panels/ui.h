// What all panels share while one picture is put together.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/gpu/buffer.h"
#include "viewer/data/comparison.h"
#include "viewer/data/live_model.h"
#include "viewer/data/view_data.h"
#include "viewer/data/view_state.h"
#include "viewer/draw/fonts.h"
#include "viewer/draw/painter.h"
#include "viewer/panels/areas.h"
#include "viewer/panels/key_bindings.h"
#include "viewer/panels/layout.h"
#include "viewer/panels/map_view.h"
#include "viewer/panels/running_text.h"
#include "viewer/panels/theme.h"

namespace vantage::view {

inline constexpr float numbered_cell = 34;  ///< pixels, at a scale of 1, from which on a cell has room for its weight

/// A map in the panel of the focused head: one, or those of two runs beside each other.
struct Pane {
    ShownRuns shown = ShownRuns::a;
    Box box;
    FocusPlaces places;
    MapView map;
    bool last = true;  ///< the one that has the colour bar
};

/// What panels know of two runs.
struct TwoRuns {
    const RunComparison& comparison;
    ShownRuns shown;                         ///< now
    std::array<const FrameData*, 2> frames;  ///< null: it has no such head
    std::array<std::string, 2> names;        ///< "A · f16"
    const std::vector<Pane>& panes;
    /// Whether a row or a column of the head in focus stands in this run; of the difference, in both.
    bool has(ShownRuns run, const Alignment& slots, std::int64_t slot) const {
        return run == ShownRuns::a   ? slots.a.token(slot).has_value()
               : run == ShownRuns::b ? slots.b.token(slot).has_value()
                                     : slots.paired(slot);
    }
};

/// What the user is at, from picture to picture: no part of what a command line says.
struct Interaction {
    std::optional<Cell> hovered;        ///< the cell under the mouse
    std::optional<Cell> picked;         ///< by the arrow keys, instead
    std::optional<double> blink_from;   ///< two runs are shown in turn since then, in seconds
    std::optional<std::int64_t> token;  ///< under the mouse, in the running text
    bool help = false, find = false, focus_find = false;
    int help_step = 0;              ///< lines that the help is to be scrolled
    std::int64_t shown_query = -1;  ///< that the running text was scrolled to
    std::string found;              ///< being edited
    // What the next run is to be, being edited; the state is of the run that is shown.
    std::string prompt;
    Sampling sampling;
    std::int64_t max_tokens = 0;
    /// The bar as it was when the drag of one of its ends began: it stays so until the end is let go.
    std::optional<ValueRange> bar;
    BarEnd dragged_end = BarEnd::bright;
    bool focus_prompt = false, typing = false;
    // ---- the keyboard
    std::optional<Area> area;                  ///< in which arrows and Enter act; nothing: they are actions
    std::optional<std::int64_t> picked_token;  ///< by the arrow keys, in the running text
    std::array<int, 2> text_step{};            ///< tokens to the right and lines down that it is to move
    Box area_box;                              ///< of a field that has the keys, as it was drawn
    bool leave_field = false, sampling_shown = false;
    std::string typed;         ///< of the number that has the keys
    std::optional<Menu> menu;  ///< open
    int menu_line = 0;         ///< of it, that is chosen
    bool menu_moved = false;   ///< by a key: it has to be seen
    float menu_left = 0;
    std::string note;                                        ///< what the last action did
    std::optional<double> note_until;                        ///< seconds; empty: it has not been drawn yet
    std::optional<std::array<float, 2>> pan_from, box_from;  ///< where a drag began, in pixels
    std::optional<Rectangle> pan_part;
    std::optional<Cell> cell() const { return picked ? picked : hovered; }
    /// The query whose reading is shown: of the cell or the token under the mouse, the query pinned last, the last of `rows`; of
    /// an image the class.
    std::int64_t query(const ViewState& state, std::int64_t rows) const;
};

/// What the menu bar shows besides the data.
struct Figures {
    double frame_seconds = 0;
    std::string model, device;
    bool software = false, frozen = false;  ///< frozen: times are not shown, so that pictures can be compared
};

/// What every panel needs to draw itself, and what a click in it may change.
struct Ui {
    ViewState& state;
    Interaction& at;
    const Layout& layout;
    const Fonts& fonts;
    const Palette& palette;
    float scale = 1;

    /// Whole pixels of a length at a scale of 1.
    float px(float logical) const;
    /// Place of a value on the colour bar, from 0 to 1.
    float position(float value) const;
};

/// The head in focus: its rows and columns.
struct FocusedHead {
    HeadId head;
    const std::vector<std::string>&row_labels, &key_labels;
    const Slots &row_slots, &key_slots;  ///< of the run in front
    const TwoRuns* two = nullptr;        ///< null: there is one run
    std::int64_t all_rows = 0;           ///< of all tokens, also while fewer are shown
    std::int64_t own_column = 0;         ///< with relative positions: the column of distance 0
};

/// What maps and images are drawn with, on the device.
struct Surface {
    Drawings& drawings;
    const gpu::Buffer& colours;  ///< the colour map, then that of differences: 256 words each
    const gpu::Buffer& picture;  ///< the image that the model sees, a word per pixel
};

/// A statistic as panels call it: of an image model the first token is "[CLS]".
std::string shown_name(HeadStatistic statistic, const LiveModel& live);
/// "Encoder layer 0 · Head 3".
std::string head_name(const HeadId& head);
/// The label of a token, or its number.
std::string label_of(const std::vector<std::string>& labels, std::int64_t token);

}  // namespace vantage::view
