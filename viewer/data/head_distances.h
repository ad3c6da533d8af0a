// How far two runs are from each other, head by head: the total variation ½ Σ_j |p_B(i, j) − p_A(i, j)| of rows on which both texts
// have a token, and the mean of that: 0 where a head reads the same in both, 1 where nothing that it reads is the same.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "viewer/data/comparison.h"
#include "viewer/data/row_checkpoints.h"
#include "viewer/data/slot_tables.h"
#include "viewer/data/view_sources.h"
#include "viewer/data/view_work.h"

namespace vantage::view {

class HeadDistances {
public:
    HeadDistances(const LiveModel& a, const LiveModel& b);
    ~HeadDistances();
    HeadDistances(const HeadDistances&) = delete;
    HeadDistances& operator=(const HeadDistances&) = delete;

    /// Works on those of the rows shown, in slots, that are not known yet, within so many seconds of the device's time; waits for
    /// nothing. True while there is more to do.
    bool update(const RunComparison& comparison, const ShownRows& shown, double seconds);
    /// Until nothing is left, waiting for the device.
    void finish(const RunComparison& comparison, const ShownRows& shown);
    /// NaN for a head that is not in both, or has no row yet. First rows that see three keys or fewer are left out of causal attention,
    /// as in all numbers of heads.
    double of(const HeadId& head) const;
    double take_device_seconds() { return work_.take_device_seconds(); }

private:
    struct Mean {
        double sum = 0;
        std::int64_t rows = 0;
    };
    /// A layer that is in both.
    struct LayerPair {
        const ViewSources::Layer *a, *b;
        std::int64_t heads = 0, rows = 0;  ///< summed up or on their way, in slots
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
    bool behind(const ShownRows& shown) const;
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
