// Everything that a viewer draws, made on the device from the rows that a LiveModel has published:
//
//   LiveModel live(model);
//   live.start({.text = "…"}, {}, 48);
//   ViewData data(live);
//   for each frame:
//       const FrameData& frame = data.update(state, {.head = …, .part = …}, now);  // submits what the budget allows; waits for nothing
//       draw with frame.map …
//
// A frame is made by one thread. What update() submits goes to the device's queue before the frame's own commands. Tiles are
// overwritten when they are old: a frame's commands end with a barrier from fragment shader reads to compute shader writes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "viewer/data/alignment.h"
#include "viewer/data/budget.h"
#include "viewer/data/head_means.h"
#include "viewer/data/live_model.h"
#include "viewer/data/view_state.h"

namespace vantage::view {

/// The cell that the mouse is on, and what it reads there, to the exact weight. Without the modifiers.
struct CellReading {
    HeadId head;
    std::int64_t query = 0, key = 0;
    std::uint64_t run = 0;
    float weight = 0, logit = 0;  ///< p; and s, the score whose softmax it is (−∞ where masked)
    std::int64_t rank = 0;        ///< keys of the row with a larger weight, plus 1
    float row_sum = 0;            ///< Σ p over all keys: 1, less what a sink takes
    float entropy = 0;            ///< of the row, in nats
    float effective = 0;          ///< exp(entropy): how many tokens it reads, as it were
    struct Top {
        std::int64_t key;
        float weight;
    };
    std::vector<Top> top;  ///< the row's largest weights, at most 8
};

inline constexpr std::int64_t max_numbers = 4096;

/// What a frame wants of the focused head.
struct Wanted {
    HeadId head;
    Rectangle part;                           ///< the rectangle that is visible
    double pixels_high = 0, pixels_wide = 0;  ///< that it has; a cell is never smaller than one
    std::optional<std::pair<std::int64_t, std::int64_t>> under_mouse;  ///< query and key
    bool mini_maps = false;                                            ///< 64² maps of all heads, too
    std::optional<Rectangle>
        numbers;  ///< whole rows and columns, at most `max_numbers` weights that are wanted one by one
    std::optional<std::int64_t> reader;  ///< a query whose weights are wanted key by key
    std::optional<ValueRange> counted;   ///< the ends of the bar that values are counted along; nothing: the state's
    bool operator==(const Wanted&) const = default;
};

/// A map in tiles on the device, as shaders/lib/tiles.glsl reads it.
struct TileMap {
    std::uint64_t address = 0;  ///< of a ViewTileMap with its entries
    int level = 0;              ///< a cell covers 2^level rows and columns
    double progress = 1;        ///< the part of its cells that is there
};

/// A head's small map: all of its map in one tile.
struct MiniMap {
    double rows = 0, columns = 0;  ///< in cells, the last of which may be in part beyond the text
    bool causal = false;
};

/// How many of the visible cells have which value, along a colour bar.
struct ValueCounts {
    AttentionScale scale = AttentionScale::square_root;
    ValueRange range;
    std::uint32_t below = 0, above = 0;  ///< the dark end, the bright end
    std::vector<std::uint32_t> bins;     ///< equal parts of the bar, from its dark end on
};

/// Single weights as the map shows them, under the modifiers and whatever its level is.
struct Excerpt {
    HeadId head;
    std::uint64_t run = 0;
    KeyAxis axis = KeyAxis::absolute;
    std::int64_t first_row = 0, first_column = 0, rows = 0, columns = 0;  ///< in tokens
    std::vector<float> weights;                                           ///< row by row; NaN where a query sees no key
    bool same_place(const Excerpt& other) const {
        return head == other.head && run == other.run && axis == other.axis && first_row == other.first_row &&
               first_column == other.first_column && rows == other.rows && columns == other.columns;
    }
    /// NaN, too, where it is not known.
    float at(std::int64_t row, std::int64_t column) const;
};

/// The cells of a map on the host, for files: those of the tiles that the wanted part touches.
struct MapCells {
    int level = 0;
    std::int64_t first_row = 0, first_column = 0;  ///< in tokens
    std::int64_t rows = 0, columns = 0;            ///< in cells
    std::vector<float> mass, peak;                 ///< row by row
};

/// The slots of a run's tokens beside those of another (viewer/data/alignment.h), which are the rows and columns of its maps then.
struct SideSlots {
    Slots own, source;         ///< of the model's own tokens; of what an encoder–decoder's encoder has read
    std::uint64_t run = 0;     ///< of the tokens; in another there are no rows
    std::uint64_t number = 0;  ///< counts up with every change
    const Slots& rows_of(AttentionKind kind) const { return kind == AttentionKind::encoder ? source : own; }
    const Slots& keys_of(AttentionKind kind) const { return kind == AttentionKind::self ? own : source; }
};

struct FrameData {
    Version version;
    std::int64_t rows = 0;     ///< shown: the version's, or the first so many with time travel; in slots
    std::int64_t columns = 0;  ///< keys, or distances; in slots
    std::uint64_t slots = 0;   ///< number of the slots that it is in
    bool causal = false;       ///< no query sees a later key
    TileMap map;               ///< of the focused head
    /// One tile for each head of LiveModel::heads(), that covers all of its map; address 0 where not wanted.
    TileMap mini_maps;
    std::vector<MiniMap> mini_map_shapes;
    std::span<const HeadMeans> heads;     ///< of LiveModel::heads()
    std::optional<double> largest_value;  ///< ‖v‖ of the keys that are seen, where weights are shown times it
    std::optional<CellReading> reading;   ///< of the last cell that was asked for and is known, one or two frames old
    std::optional<ValueCounts> counts;    ///< of the visible cells, one or two frames old
    /// Weights one by one, as wanted a frame or two ago, of the focused head; null: none yet. What a query reads is by key, whatever
    /// the axis.
    std::shared_ptr<const Excerpt> numbers, read;
    /// Σ p of the rows of the focused head so far: the largest distance from 1, nothing where the head has a sink or no row.
    std::optional<double> row_sum_error;
    /// Rows of the focused head whose sums are known, from the first on, 0 where it has a sink; and those of them that are off.
    std::int64_t rows_checked = 0;
    std::span<const OffRow> off_rows;
    bool changed = false;  ///< since the last update: draw
    bool busy = false;     ///< there is more to refine: update again soon, in `wake_in` seconds
    double wake_in = 0;
    double cost_percent = 0;  ///< of the model's time
};

/// Counts for tests and for the status line.
struct ViewCounts {
    std::uint64_t updates = 0, submissions = 0, tiles_made = 0, tiles_pooled = 0, tiles_evicted = 0;
    std::uint64_t rows_summed = 0, readings = 0;
    std::uint64_t waits = 0;  ///< of the host for the device, in update(): none
    double device_seconds = 0, host_seconds = 0;
};

struct ViewDataOptions {
    std::int64_t tiles = 1024;      ///< of the focused map, 32 KiB each; the mini-maps' come on top
    double refine_seconds = 0.002;  ///< of the device's time in one update, while the model is at work
    std::int64_t max_slots = 0;     ///< that set_slots may give; 0: it is never called
    std::optional<double> budget_percent = {};
};

class ViewData {
public:
    /// Makes the pipelines for this model's rules. The model lives longer.
    explicit ViewData(LiveModel& live, const ViewDataOptions& options = {});
    ~ViewData();

    /// While the budget holds nothing and the same is wanted as before, the frame before is given again, unchanged.
    /// `now`: seconds on any clock that goes forward; a headless viewer gives its own.
    const FrameData& update(const ViewState& state, const Wanted& wanted, double now);
    /// Rows and columns are slots from the next update on at which the device does nothing; until then those before. Tiles of what
    /// has not changed stay.
    void set_slots(const SideSlots& slots);
    /// Updates until nothing is left to refine, waiting for the device: for pictures without a window, and for files. Of the newest version, or
    /// of that of the last update; one that comes meanwhile is left for the next.
    const FrameData& finish(const ViewState& state, const Wanted& wanted, bool newest = true);

    /// The cells of the last map, once it is finished.
    MapCells read_cells();

    Budget& budget();
    /// What drawing a frame has cost, for the budget.
    void note_frame(double now, double device_seconds, double host_seconds);
    const ViewCounts& counts() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace vantage::view
