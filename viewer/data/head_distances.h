// The difference of two runs by head: the total variation ½ Σ_j |p_B(i, j) − p_A(i, j)|, averaged over the rows on
// which both texts have a token. 0: identical, 1: disjoint.
#pragma once

#include <optional>
#include <vector>

#include "viewer/data/comparison.h"
#include "viewer/data/row_checkpoints.h"
#include "viewer/data/slot_tables.h"
#include "viewer/data/view_sources.h"
#include "viewer/data/view_work.h"

namespace vantage::view {

class HeadDistances : NotCopied {
public:
    HeadDistances(const LiveModel& a, const LiveModel& b);
    ~HeadDistances();

    /// Adds missing rows of those shown (in slots), within `seconds` of device time. Does not wait. Returns whether
    /// there is more to do.
    bool update(const RunComparison& comparison, const ShownRows& shown, double seconds);
    /// Updates until nothing is left; waits for the device.
    void finish(const RunComparison& comparison, const ShownRows& shown);
    /// NaN for a head that is not in both runs or has no row yet. As in all statistics, causal attention skips the
    /// first three rows.
    double of(const HeadId& head) const;
    double take_device_seconds() { return work_.take_device_seconds(); }

private:
    struct Mean {
        double sum = 0;
        std::int64_t rows = 0;
    };
    /// A layer of both runs.
    struct LayerPair {
        const ViewSources::Layer *a, *b;
        std::int64_t heads = 0, rows = 0;  ///< summed or pending, in slots
        std::vector<Mean> means;           ///< by head
        RowCheckpoints<std::vector<Mean>> kept;
    };
    struct Pending {
        std::size_t layer;
        std::int64_t first, rows;
        std::uint64_t restarts;
    };
    void restart();
    void take_slots(const RunComparison& comparison);
    void collect();
    bool incomplete(const ShownRows& shown) const;
    void launch(const RunComparison& comparison, const ShownRows& shown);
    bool counts(const LayerPair& pair, std::int64_t slot) const;

    gpu::DeviceState& device_;
    ViewSources sources_a_, sources_b_;
    ViewWork work_;
    SlotTables tables_a_, tables_b_;
    SideSlots slots_a_, slots_b_;
    std::vector<LayerPair> layers_;
    std::int64_t max_slots_;
    gpu::Buffer weights_, result_;
    std::uint64_t run_ = 0, restarts_ = 0;
    std::optional<Pending> pending_;
};

}  // namespace vantage::view
