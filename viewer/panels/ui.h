// What panels share while a picture is laid out.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
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
#include "viewer/panels/run_view.h"
#include "viewer/panels/running_text.h"
#include "viewer/panels/theme.h"

namespace vantage::view {

inline constexpr float numbered_cell = 34;  ///< pixels, at a scale of 1, of a cell that shows its weight

/// A map in the panel of the focused head: one, or one of two runs side by side.
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
    ShownRuns shown;                   ///< now
    std::array<RunView*, 2> runs;      ///< A and B
    std::array<std::string, 2> names;  ///< "A · f16"
    /// Null: no such head.
    const FrameData* frame(bool of_b) const { return runs[of_b ? 1 : 0]->frame; }
    /// Whether this run has a token on a slot; for the difference, both.
    bool has(ShownRuns run, const Alignment& slots, std::int64_t slot) const {
        return run == ShownRuns::a   ? slots.a.token(slot).has_value()
               : run == ShownRuns::b ? slots.b.token(slot).has_value()
                                     : slots.paired(slot);
    }
};

/// Where the user is, from picture to picture. Not part of a command line.
struct Interaction {
    std::optional<Cell> hovered;       ///< the cell under the mouse
    std::optional<Cell> picked;        ///< by the arrow keys; takes precedence
    std::optional<double> blink_from;  ///< start of blinking A/B, in seconds
    /// What the difference of two runs took the place of.
    struct {
        ShownRuns shown = ShownRuns::both;
        HeadStatistic statistic = ViewState().statistic;
    } before_difference;
    std::optional<std::int64_t> token;  ///< under the mouse, in the text
    std::optional<std::int64_t> step;   ///< of training, that is shown; nothing: the newest
    bool help = false, find = false, focus_find = false;
    int help_step = 0;                                  ///< lines to scroll the help by
    std::array<std::int64_t, 2> shown_queries{-1, -1};  ///< to which the texts were scrolled, of A and of B
    std::string found;                                  ///< being edited
    // ---- fields of the next run, being edited; the state is that of the run shown
    std::string prompt;
    Sampling sampling;
    std::int64_t max_tokens = 0;
    /// The range when a drag of one end began. The bar keeps it until the drag ends.
    std::optional<ValueRange> bar;
    BarEnd dragged_end = BarEnd::bright;
    /// Where the drag of a splitter began, in pixels.
    struct {
        float size = 0, at = 0;
    } splitter_from;
    bool focus_prompt = false, typing = false;
    // ---- the keyboard
    std::optional<Area> area;                  ///< that arrows and Enter act in; nothing: they are actions
    std::optional<std::int64_t> picked_token;  ///< by the arrow keys, in the text
    bool first_query = false;                  ///< the rows are an image's: [CLS], the first, collects the patches
    std::array<int, 2> text_step{};            ///< tokens right and lines down to move it by
    Box area_box;                              ///< of the field that has the keys
    bool leave_field = false;
    bool scrolled = false;     ///< a panel: the next picture shows it
    int text_lines = 4;        ///< that the texts had in the last picture
    int numbers_shown = 0;     ///< number fields that have room
    std::string typed;         ///< into the number that has the keys
    std::optional<Menu> menu;  ///< open
    int menu_line = 0;         ///< selected line of it
    bool menu_moved = false;   ///< by a key: scroll to it
    float menu_left = 0;
    std::string note;                                        ///< message of the last action
    std::optional<double> note_until;                        ///< seconds; empty: not drawn yet
    std::optional<std::array<float, 2>> pan_from, box_from;  ///< start of a drag, in pixels
    std::optional<Rectangle> pan_part;
    std::optional<Cell> cell() const { return picked ? picked : hovered; }
    /// The query whose row is shown: that of the cell or token under the mouse, else the last pinned one, else the last
    /// of `rows`; for an image [CLS].
    std::int64_t query(const ViewState& state, std::int64_t rows) const;
};

/// What the menu bar shows besides the data.
struct Figures {
    double frame_seconds = 0;
    std::string model, device;
    std::string error;                      ///< that ended a run; empty: none
    bool software = false, frozen = false;  ///< frozen: show no times
};

/// The head in focus: its rows and columns.
struct FocusedHead {
    HeadId head;
    const std::vector<std::string>&row_labels, &key_labels;
    const Slots &row_slots, &key_slots;   ///< of the run in front
    std::optional<TwoRuns> two;           ///< nothing: there is one run
    std::int64_t all_rows = 0;            ///< of all tokens, also while fewer are shown
    std::int64_t own_column = 0;          ///< with relative positions: the column of distance 0
    std::optional<std::int64_t> key;      ///< slot of the key of the cell under the mouse
    const char* why_no_weight = nullptr;  ///< of the cell under the mouse; null: it has one, or there is no such cell
};

/// What maps and images are drawn with, on the device.
struct Surface {
    Drawings& drawings;
    const gpu::Buffer& colours;  ///< the colour map, then that of differences: 256 words each
    const gpu::Buffer& picture;  ///< the image that the model sees, a word per pixel
};

/// What every panel needs to draw itself, and what a click in it may change.
struct Ui {
    ViewState& state;
    Interaction& at;
    const Layout& layout;
    const Fonts& fonts;
    const Palette& palette;
    const KeyBindings& keys;
    float scale = 1;
    RunView& run;  ///< the one in front
    const Figures& figures;
    FocusedHead focus;
    std::span<const HeadMeans> heads;  ///< of run.live.heads(), with the difference of two runs
    const ValueRange& default_ends;    ///< of the colour bar
    Surface surface;

    /// Whole pixels of a length at a scale of 1.
    float px(float logical) const;
    /// Place of a value on the colour bar, from 0 to 1.
    float position(float value) const;
};

/// A statistic as panels call it: of an image model the first token is "[CLS]", and distances are in patches.
std::string shown_name(HeadStatistic statistic, const LiveModel& live);
/// "Encoder layer 0 · Head 3".
std::string head_name(const HeadId& head);
/// "3" in the decoder, "e3" in the encoder, "x3" in cross-attention.
std::string layer_label(const HeadId& head);
/// "L3", "e3", "x3".
std::string layer_name(const HeadId& head);
/// "L3 · H0", "e3 · H0".
std::string short_name(const HeadId& head);
/// "the·12": tells a token from others of the same text.
std::string with_position(const std::string& label, std::int64_t token);
/// The label of a token, or its number.
std::string label_of(const std::vector<std::string>& labels, std::int64_t token);

}  // namespace vantage::view
