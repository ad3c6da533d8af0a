// Tiles of a head's map on the device: 64 × 64 cells of a level, computed from weights or from four tiles of the level
// below; which of them a part of the map needs; and the maps that name them.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstring>

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

/// A map and the words of its tiles, as kernels read them.
inline void write_map(std::byte* to, const params::ViewTileMap& map, std::span<const std::uint32_t> words) {
    assert(words.size() <= max_map_words);
    std::memcpy(to, &map, sizeof map);
    std::ranges::copy(words, reinterpret_cast<std::uint32_t*>(to + sizeof map));
}

/// Host-visible maps in rotation, so that a frame in flight keeps its own.
class MapRing {
public:
    MapRing(gpu::DeviceState& device, const char* name)
        : buffer_(gpu::allocate(device, maps_in_flight * max_map_bytes, gpu::MemoryKind::shared, name)) {}
    std::uint64_t write(const params::ViewTileMap& map, std::span<const std::uint32_t> words) {
        next_ = (next_ + 1) % maps_in_flight;
        write_map(buffer_.mapped() + next_ * max_map_bytes, map, words);
        return buffer_.address() + next_ * max_map_bytes;
    }

private:
    static constexpr std::size_t maps_in_flight = 4;  // frames that may still read one
    gpu::Buffer buffer_;
    std::size_t next_ = 0;
};

/// Tiles of a level that a rectangle touches, their ends not included.
struct TileRange {
    std::int64_t first_row, last_row, first_column, last_column;
    std::int64_t rows() const { return std::max<std::int64_t>(last_row - first_row, 0); }
    std::int64_t columns() const { return std::max<std::int64_t>(last_column - first_column, 0); }
};
TileRange tiles_of(const Rectangle& part, const Extent& extent, int level);

/// Of a tile, in tokens × tokens.
double visible_area(const TileKey& key, const Rectangle& part);

/// The finest level whose cells are at least a pixel and whose visible tiles fit the cache.
int level_for(const Wanted& wanted, const Extent& extent, std::int64_t max_tiles);

}  // namespace vantage::view
