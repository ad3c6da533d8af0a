// The tiles and the level that a part of a map needs.
#pragma once

#include "viewer/data/tiles.h"

namespace vantage::view {

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
