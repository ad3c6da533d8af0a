// The data that a viewer draws, computed on the device from the rows that a LiveModel has published:
//
//   LiveModel live(model);
//   live.start({.text = "…"}, {}, 48);
//   ViewData data(live);
//   for each frame:
//       // submits what the budget allows and does not wait
//       const FrameData& frame = data.update(state, {.head = …, .part = …}, now);
//       draw with frame.map …
//
// One thread makes the frames. update() submits to the queue before the frame's own commands. Old tiles are
// overwritten, so a frame's commands end with a barrier from fragment shader reads to compute shader writes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/base/at.h"
#include "viewer/data/alignment.h"
#include "viewer/data/budget.h"
#include "viewer/data/live_model.h"
#include "viewer/data/view_state.h"

namespace vantage::view {

/// A cell and its row with exact weights, without modifiers.
struct CellReading {
    HeadId head;
    std::int64_t query = 0, key = 0;
    std::uint64_t run = 0;
    float weight = 0, logit = 0;  ///< p, and the score s before the softmax (−∞ if masked)
    std::int64_t rank = 0;        ///< keys of the row with a larger weight, plus 1
    float row_sum = 0;            ///< Σ p over all keys: 1, minus the share of a learned sink
    float entropy = 0;            ///< of the row, in nats
    float effective = 0;          ///< exp(entropy)
    struct Top {
        std::int64_t key;
        float weight;
    };
    std::vector<Top> top;  ///< the row's largest weights, at most 8
};

/// A cell of the smallest map (64 pixels) of the longest default context (32768 tokens) covers so many weights.
inline constexpr std::int64_t max_numbers = 512 * 512;

/// What a frame needs of the focused head.
struct Wanted {
    HeadId head;
    Rectangle part;                                                    ///< visible
    double pixels_high = 0, pixels_wide = 0;                           ///< of the part; a cell is at least one pixel
    std::optional<std::pair<std::int64_t, std::int64_t>> under_mouse;  ///< query and key
    bool mini_maps = false;                                            ///< also maps of 64² cells of all heads
    /// Whole rows and columns of single weights, at most `max_numbers`.
    std::optional<Rectangle> numbers;
    std::optional<std::int64_t> reader;  ///< a query, for the single weights of its row
    std::optional<ValueRange> counted;   ///< range of the histogram; nothing: the state's
    bool operator==(const Wanted&) const = default;
};

/// A map of tiles on the device, as shaders/lib/tiles.glsl reads it.
struct TileMap {
    std::uint64_t address = 0;  ///< of a ViewTileMap with its entries
    int level = 0;              ///< a cell covers 2^level rows and columns
    double progress = 1;        ///< the part of its cells that is complete
};

/// A head's thumbnail: its whole map in one tile.
struct MiniMap {
    double rows = 0, columns = 0;  ///< in cells; the last one may extend beyond the text
    bool causal = false;
};

/// Histogram of the visible cells along the colour bar.
struct ValueCounts {
    bool differences = false;  ///< distances from another run's cells are counted
    AttentionScale scale = AttentionScale::square_root;
    ValueRange range;
    std::uint32_t below = 0, above = 0;  ///< the range
    std::vector<std::uint32_t> bins;     ///< equal parts of the bar, from the minimum
    /// The smallest end of a bin that this share of the cells does not exceed.
    double quantile(double share) const;
};

/// Single weights with the modifiers of the map, independent of its level.
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
    /// NaN also where the weight is not known.
    float at(std::int64_t row, std::int64_t column) const;
};

/// The cells of a map on the host, for files: those of the tiles that the wanted part touches.
struct MapCells {
    int level = 0;
    std::int64_t first_row = 0, first_column = 0;  ///< in tokens
    std::int64_t rows = 0, columns = 0;            ///< in cells
    std::vector<float> mass, peak;                 ///< row by row
};

/// The slots of a run's tokens (viewer/data/alignment.h): the rows and columns of its maps while two runs are shown.
struct SideSlots {
    Slots own, source;         ///< of the model's tokens; of those of an encoder–decoder's encoder
    std::uint64_t run = 0;     ///< of the tokens; another run has no rows
    std::uint64_t number = 0;  ///< increases with every change
    const Slots& rows_of(AttentionKind kind) const { return kind == AttentionKind::encoder ? source : own; }
    const Slots& keys_of(AttentionKind kind) const { return kind == AttentionKind::self ? own : source; }
};

inline constexpr double row_sum_tolerance = 2e-3;  ///< of |Σ p − 1|
/// A row whose weights do not sum to 1.
struct OffRow {
    std::int64_t row = 0;
    float sum = 0;
};

/// Means over the rows summed so far. NaN: undefined, or no row yet. As in runtime/inspect/head_statistics.h, causal
/// attention skips the first three rows.
struct HeadMeans {
    std::int64_t rows = 0;  ///< summed up
    std::array<double, head_statistic_count> mean{};
    double worst_row_sum = 0;  ///< largest |Σ p − 1| of a row; NaN with a learned sink
    double operator[](HeadStatistic s) const { return at(mean, s); }
};

struct FrameData {
    Version version;
    std::int64_t rows = 0;     ///< shown: those of the version, or fewer back in time; in slots
    std::int64_t columns = 0;  ///< keys, or distances; in slots
    std::uint64_t slots = 0;   ///< number of the slots that it is in
    bool causal = false;       ///< no query sees a later key
    TileMap map;               ///< of the focused head
    /// One tile for each head of LiveModel::heads() with its whole map; address 0 if not wanted.
    TileMap mini_maps;
    std::vector<MiniMap> mini_map_shapes;
    std::span<const HeadMeans> heads;     ///< of LiveModel::heads()
    std::optional<double> largest_value;  ///< ‖v‖ of the visible keys, if weights are multiplied by it
    std::optional<CellReading> reading;   ///< of the last requested cell that is known, one or two frames old
    std::optional<ValueCounts> counts;    ///< of the visible cells, one or two frames old
    /// Single weights of the focused head, as requested one or two frames ago; null: none yet. `read` is by key, for
    /// either axis.
    std::shared_ptr<const Excerpt> numbers, read;
    /// Largest |Σ p − 1| of the focused head's rows; nothing if the head has a learned sink or no row.
    std::optional<double> row_sum_error;
    /// Number of first rows of the focused head whose sums are known, 0 if it has a learned sink; and those that do not
    /// sum to 1.
    std::int64_t rows_checked = 0;
    std::span<const OffRow> off_rows;
    bool changed = false;  ///< since the last update: draw
    bool busy = false;     ///< there is more to refine: update again in `wake_in` seconds
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
    std::int64_t tiles = 1024;      ///< of the focused map, 32 KiB each; thumbnails have their own
    double refine_seconds = 0.002;  ///< of device time in one update while the model works
    std::int64_t max_slots = 0;     ///< that set_slots may pass; 0: it is never called
    std::optional<double> budget_percent = {};
};

class ViewData {
public:
    /// Creates the pipelines for this model's attention. The model lives longer.
    explicit ViewData(LiveModel& live, const ViewDataOptions& options = {});
    ~ViewData();

    /// Returns the previous frame unchanged while the budget is closed and the same is wanted. `now`: seconds on a
    /// clock that goes forward.
    const FrameData& update(const ViewState& state, const Wanted& wanted, double now);
    /// Uses these slots from the next update on at which the device is idle. Tiles of unchanged slots are kept.
    void set_slots(const SideSlots& slots);
    /// From the next update on the histogram counts the distances from another run's cells, from 1e-4 of `maximum` to
    /// `maximum` on a logarithmic bar. Nothing is counted until both maps are complete. Null: its own values again.
    void subtract(const ViewData* other, double maximum = 1);
    /// Updates until nothing is left to refine and waits for the device: for files and pictures without a window. Uses
    /// the newest version, or that of the last update. A version that is published meanwhile is not used.
    const FrameData& finish(const ViewState& state, const Wanted& wanted, bool newest = true);

    /// The cells of the last finished map.
    MapCells read_cells();

    Budget& budget();
    /// Charges the drawing of a frame to the budget.
    void note_frame(double now, double device_seconds, double host_seconds);
    const ViewCounts& counts() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace vantage::view
