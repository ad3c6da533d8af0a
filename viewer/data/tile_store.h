// A cache of tiles of fixed size, least recently used first out. Bookkeeping without a device.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "shaders/params/view.h"

namespace vantage::view {

struct TileKey {
    int head = 0;                      ///< number in LiveModel::heads()
    int level = 0;                     ///< a cell covers 2^level rows and columns
    std::int64_t row = 0, column = 0;  ///< in tiles of its level
    bool relative = false;
    std::uint32_t look = 0;  ///< of modifiers: 0 for none, a new number for each change of them
    auto operator<=>(const TileKey&) const = default;

    std::int64_t span() const { return std::int64_t{TILE_CELLS} << level; }  ///< tokens across
    std::int64_t first_row() const { return row * span(); }
    std::int64_t first_column() const { return column * span(); }
    /// The part of it that `rows` rows reach.
    std::int64_t end_row(std::int64_t rows) const { return std::min(first_row() + span(), rows); }
    TileKey child(int down, int right) const {
        return {head, level - 1, 2 * row + down, 2 * column + right, relative, look};
    }
    TileKey ancestor(int levels) const {
        return {head, level + levels, row >> levels, column >> levels, relative, look};
    }
};

struct Tile {
    std::uint32_t slot = 0;
    std::int64_t done = 0;   ///< rows of the text below this one are in it
    std::int64_t rows = 0;   ///< of the text as its last cells' means know them
    std::uint64_t used = 0;  ///< the update that wanted it last
    bool complete(const TileKey& key, std::int64_t all_rows) const {
        return done == key.end_row(all_rows) && rows == done;
    }
    /// Rows of cells that hold all of their weights.
    std::int64_t ready(const TileKey& key) const;
    /// Rows from this one on are gone, and the cells that they are in.
    void cut(const TileKey& key, std::int64_t row);
};

class TileStore {
public:
    explicit TileStore(std::size_t slots);
    /// The tile, if there is one.
    Tile* find(const TileKey& key);
    /// The tile, or a new one in place of the least recently used; nothing if all were used in this update.
    Tile* make(const TileKey& key, std::uint64_t update);
    void clear();
    /// Of all tiles the rows from this one on are gone, and the cells that they are in.
    void cut(std::int64_t row);
    std::size_t size() const { return tiles_.size(); }
    std::uint64_t evicted() const { return evicted_; }

private:
    std::map<TileKey, Tile> tiles_;
    std::vector<std::uint32_t> free_;
    std::uint64_t evicted_ = 0;
    std::size_t slots_;
};

}  // namespace vantage::view
