// The run, or the two runs, that are shown, and what the view's state means for them: the head in focus, rows, columns,
// slots.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "viewer/data/head_distances.h"
#include "viewer/panels/run_view.h"
#include "viewer/panels/ui.h"

namespace vantage::view {

class FocusFinder;

class ViewedRuns {
public:
    /// State and interaction are the viewer's; they live as long. `compared` may be null.
    ViewedRuns(LiveModel& live, LiveModel* compared, const ViewState& state, const Interaction& at,
               std::optional<double> budget_percent);
    ~ViewedRuns();

    RunView& a() { return a_; }
    const RunView& a() const { return a_; }
    /// Null where there is one run. Likewise `comparison`.
    RunView* b() { return b_.get(); }
    const RunView* b() const { return b_.get(); }
    const RunComparison* comparison() const { return comparison_ ? &*comparison_ : nullptr; }
    bool compares() const { return b_ != nullptr; }
    template <class Do>
    void each(Do what) {
        what(a_);
        if (b_) what(*b_);
    }
    /// Starts the second run with a new prompt; nothing where there is none.
    void start_second(const ViewState& state);

    /// What is shown of two runs; while they blink, one of them.
    ShownRuns shown() const;
    /// The time of the current picture, for blinking.
    void set_time(double now) { now_ = now; }
    /// Seconds until the other run blinks.
    double blink_left(double now) const;
    /// The run whose text, numbers and readings are shown.
    const RunView& front() const { return shown() == ShownRuns::b ? *b_ : a_; }
    RunView& front() { return shown() == ShownRuns::b ? *b_ : a_; }

    // ---- the head in focus: the state's, else the suggested one
    HeadId head() const;
    std::int64_t all_rows() const;  ///< of all tokens
    std::int64_t rows() const;      ///< shown
    std::int64_t keys() const;
    std::int64_t columns() const;  ///< keys, or distances
    /// The column of distance 0. Attention that is not causal has later keys in the columns before it.
    std::int64_t own_column() const;
    Rectangle part() const;  ///< visible: the state's, or all
    /// What is wrong with a part, rows or a pin that lie outside of the map; else empty.
    std::string place_error() const;

    /// What ended a run; empty: nothing did.
    std::string error() const;

    // ---- rows and columns are slots, on which the tokens of two runs are aligned
    const SideSlots& slots(const RunView& run) const;
    const Slots& row_slots(const RunView& run) const { return slots(run).rows_of(head().kind); }
    const Slots& key_slots(const RunView& run) const { return slots(run).keys_of(head().kind); }
    const Slots& row_slots() const { return row_slots(front()); }
    /// The slot of the key of a cell; nothing where there is no such key (relative position axis).
    std::optional<std::int64_t> key_of(const Cell& cell) const { return key_of(cell, front()); }
    /// Why the cell under the mouse, or the selected one, has no weight in this run; null if it has one, or if there is
    /// no such cell.
    const char* why_no_weight(const RunView& run) const;
    /// The run whose numbers of the cell under the mouse come first: the one in front; side by side B, if only B has
    /// such a cell.
    RunView& of_cell();
    const std::vector<std::string>& labels() const;
    const std::vector<std::string>& source_labels() const;

    // ---- data of the last picture
    std::optional<CellReading> reading() const { return reading_of(&front()); }
    /// Of A and of B, for the same cell.
    std::pair<std::optional<CellReading>, std::optional<CellReading>> readings() const {
        return {reading_of(&a_), reading_of(b_.get())};
    }
    std::span<const OffRow> off_rows() const;
    /// Statistics of all heads of the run in front, with the difference of two runs.
    std::span<const HeadMeans> head_numbers() const { return numbers_; }
    double distance_of(const HeadId& head) const { return distances_->of(head); }

    // ---- the steps of a picture
    /// Takes over versions and tokens of both models.
    void read(Fonts& fonts);
    void update_labels(const Fonts& fonts);
    /// Reads until B has read all that A has, or its own text has ended. Throws its error.
    void wait_for_second(Fonts& fonts);
    bool versions_wait() const;
    FocusFinder& finder() const { return *finder_; }
    /// Searches for a head to suggest; the time is taken from the budget. Returns what went wrong.
    std::optional<std::string> search_head(double now);
    Wanted wanted(const RunView& run, const MapView& map, float cell_pixels) const;
    /// The state as the data of a run is computed for it.
    ViewState seen() const;
    /// The largest ‖v‖ of the visible keys; 0: unknown.
    double largest_value() const;
    /// Lets the differences be counted while they are shown.
    void count_differences();
    /// What 99 % of the visible differences do not exceed; nothing while it is unknown.
    std::optional<double> usual_difference() const;
    void collect_numbers(const RunView& front);
    void update_distances(double now);
    /// Waits for the difference of all heads.
    void finish_distances();
    /// When there is more to compute for the differences.
    std::optional<double> distances_due() const { return distances_due_; }

private:
    static std::optional<CellReading> reading_of(const RunView* run) {
        return run != nullptr && run->frame != nullptr ? run->frame->reading : std::nullopt;
    }
    std::optional<std::int64_t> key_of(const Cell& cell, const RunView& run) const;
    Cell argmax_cell(std::int64_t query) const;
    std::optional<Cell> asked_cell(const RunView& run) const;
    ShownRows shown_slots() const;

    const ViewState& state_;
    const Interaction& at_;
    RunView a_;
    std::unique_ptr<RunView> b_;
    std::optional<RunComparison> comparison_;
    std::optional<HeadDistances> distances_;
    std::optional<double> distances_due_;
    std::vector<HeadMeans> numbers_;
    std::shared_ptr<FocusFinder> finder_;  ///< shared with the model's thread
    /// Labels of slots of two texts, and what they were made of.
    std::vector<std::string> slot_labels_, source_slot_labels_;
    std::array<std::uint64_t, 7> slot_labels_of_{};
    double now_ = 0;
};

/// Name of a run with what differs from the other one: "A · f16 weights".
std::string run_name(const LiveModel& live, const ViewState& state, bool is_b);
/// "9.1 tok/s", "213 tok/s".
std::string speed_text(double tokens_per_second);

}  // namespace vantage::view
