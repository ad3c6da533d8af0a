// Exact weights on the host: numbers for large cells, the row of a query, and the weight under the mouse.
#pragma once

#include <memory>

#include "viewer/data/tiles.h"

namespace vantage::view {

/// Single weights of the focused head.
class ExcerptReader {
public:
    /// Of at most so many weights.
    ExcerptReader(gpu::DeviceState& device, std::int64_t max_values, const char* name);

    /// Adds reading the weights of `wanted` to the batch, unless they are known or their factors are not ready.
    void ask(Excerpt wanted, const ViewSources::Layer& layer, const Extent& extent, const Look& look, ViewWork& work);
    /// Requests nothing.
    void rest() { current_ = true; }
    /// Takes the results of a finished batch.
    bool collect();
    /// Whether the last request is known.
    bool current() const { return current_; }
    /// The last known excerpt, or null.
    const std::shared_ptr<const Excerpt>& excerpt() const { return excerpt_; }

private:
    gpu::DeviceState& device_;
    gpu::Buffer result_;
    std::optional<Excerpt> asked_;
    std::uint32_t asked_look_ = 0, look_ = 0;
    std::shared_ptr<const Excerpt> excerpt_;
    bool current_ = true;
};

/// The exact weight under the mouse, with its row.
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
