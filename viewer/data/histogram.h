// Histogram of the visible cells along the colour bar, computed on the device from their tiles.
#pragma once

#include "viewer/data/tiles.h"

namespace vantage::view {

/// The colour bar as shaders take it.
params::ViewScale scale_params(AttentionScale scale, const ValueRange& range);

class Histogram {
public:
    explicit Histogram(gpu::DeviceState& device);

    /// What decides about the counts.
    struct Subject {
        std::uint64_t run = 0;
        HeadId head;
        std::uint32_t look = 0;
        std::int64_t rows = 0;  ///< of the text
        int level = 0;
        bool relative = false;
        CellPooling pooling = CellPooling::mass;
        AttentionScale scale = AttentionScale::square_root;
        ValueRange range;
        std::array<std::uint32_t, 4> part{};  ///< first row and column, rows and columns, in cells
        std::vector<std::uint32_t> words;     ///< of the map
        /// Of another run's map with the same slots and level, whose cells are subtracted; empty: none.
        std::vector<std::uint32_t> minus_words = {};
        bool operator==(const Subject&) const = default;
    };
    /// Counts the cells of a part of the map, unless they were counted; where the batch has room. `minus` is the other
    /// run's map.
    void ask(const params::ViewTileMap& map, const params::ViewTileMap& minus, Subject subject, ViewWork& work);
    void ask_nothing() { current_ = true; }
    /// Takes the results of a finished batch.
    bool collect();
    /// Whether the counts are of what was asked for last.
    bool current() const { return current_; }
    const std::optional<ValueCounts>& counts() const { return counts_; }

private:
    gpu::DeviceState& device_;
    gpu::Buffer map_, minus_, result_;
    std::optional<Subject> asked_, counted_;
    std::optional<ValueCounts> counts_;
    bool current_ = false;
};

}  // namespace vantage::view
