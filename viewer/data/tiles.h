// Tiles of a head's map on the device: 64 × 64 cells of a level, computed from weights or from four tiles of the level
// below.
#pragma once

#include "viewer/data/tile_store.h"
#include "viewer/data/view_data.h"
#include "viewer/data/view_sources.h"
#include "viewer/data/view_work.h"

namespace vantage::view {

inline constexpr std::int64_t max_map_words = 8192;
inline constexpr std::uint64_t max_map_bytes = sizeof(params::ViewTileMap) + max_map_words * sizeof(std::uint32_t);

/// The size of a head's map in slots. With one text these are tokens.
struct Extent {
    std::int64_t rows = 0, keys = 0;
    std::int64_t own_rows = 0, own_keys = 0;  ///< tokens on them
    bool relative = false, causal = false;
    params::uvec2 row_slots{}, key_slots{};  ///< tables (shaders/params/view.h)
    bool plain() const { return (row_slots.x | row_slots.y | key_slots.x | key_slots.y) == 0; }  ///< slots are tokens
    std::int64_t origin() const { return causal ? 0 : keys - 1; }  ///< a relative column is row + origin − key
    std::int64_t columns() const { return !relative ? keys : causal ? rows : rows + keys - 1; }
    /// Whether a causal mask hides all of a tile.
    bool hides(const TileKey& key) const { return causal && key.first_column() >= key.end_row(rows); }
    bool holds(const TileKey& key) const {
        return key.first_row() < rows && key.first_column() < columns() && !hides(key);
    }
};

/// Addresses of what weights are multiplied with, those that there are not marked as absent.
struct Look {
    std::uint32_t number = 0;  ///< 0: without modifiers
    params::uvec2 row_factors, key_factors, distance_means;
    std::int64_t rows_ready = 0;  ///< rows below it have all that they need
};

class Tiles {
public:
    Tiles(gpu::DeviceState& device, std::size_t slots);

    /// Adds work on a tile to the batch, as far as it fits and the factors are ready. Returns whether the tile is
    /// complete.
    bool advance(const TileKey& key, const HeadId& head, const ViewSources::Layer& layer, const Extent& extent,
                 const Look& look, ViewWork& work, std::uint64_t update);
    /// The word of a map for this tile (shaders/params/view.h): the tile, or a coarser complete one until it is
    /// complete.
    std::uint32_t word(const TileKey& key, const Extent& extent, std::uint64_t update);
    /// The part of the rows of a tile that is there, 0 to 1.
    double progress(const TileKey& key, const Extent& extent);

    /// The cells of the tile that a word of a map names: mass and peak, row by row. Waits for the device.
    std::vector<float> read(std::uint32_t word) const;

    std::uint64_t pool_address() const { return pool_.address(); }
    void clear() { store_.clear(); }
    /// Rows from `slot` on must be recomputed.
    void cut(std::int64_t slot) { store_.cut(slot); }
    std::uint64_t made() const { return made_; }
    std::uint64_t pooled() const { return pooled_; }
    std::uint64_t evicted() const { return store_.evicted(); }

private:
    std::uint64_t slot_address(const Tile& tile) const;
    bool complete(const TileKey& key, const Extent& extent);
    void pool(const TileKey& key, Tile& tile, const Extent& extent, ViewWork& work);
    void make_rows(const TileKey& key, Tile& tile, const HeadId& head, const ViewSources::Layer& layer,
                   const Extent& extent, const Look& look, ViewWork& work);

    gpu::DeviceState& device_;
    TileStore store_;
    gpu::Buffer pool_;
    std::uint64_t made_ = 0, pooled_ = 0;
};

}  // namespace vantage::view
