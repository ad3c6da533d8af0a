// The exact weight under the mouse, with its row.
#pragma once

#include "viewer/data/tiles.h"

namespace vantage::view {

class HoveredWeight {
public:
    explicit HoveredWeight(gpu::DeviceState& device);
    /// Adds the reading of a cell to the batch.
    void ask(const HeadId& head, const ViewSources::Layer& layer, std::int64_t query, std::int64_t key,
             const Extent& extent, std::uint64_t run, ViewWork& work);
    /// Takes the results of a finished batch.
    bool collect();
    const std::optional<CellReading>& reading() const { return reading_; }
    std::uint64_t readings() const { return readings_; }

private:
    gpu::Buffer result_;
    std::optional<CellReading> asked_, reading_;
    std::uint64_t readings_ = 0;
};

}  // namespace vantage::view
