#include "viewer/data/tile_store.h"

#include <algorithm>

namespace vantage::view {

std::int64_t Tile::ready(const TileKey& key) const {
    const std::int64_t there = done - key.first_row(), size = std::int64_t{1} << key.level;
    return done == rows ? (there + size - 1) / size : there / size;
}

TileStore::TileStore(std::size_t slots) : slots_(slots) { clear(); }

// A partial cell already holds the mean over its rows. If one of these rows is removed, the whole cell is invalid.
void Tile::cut(const TileKey& key, std::int64_t row) {
    const std::int64_t whole = std::max((row >> key.level) << key.level, key.first_row());
    done = std::min(done, whole), rows = std::min(rows, whole);
}

void TileStore::clear() {
    tiles_.clear();
    free_.clear();
    for (std::size_t i = slots_; i-- > 0;) free_.push_back(static_cast<std::uint32_t>(i));
}

void TileStore::cut(std::int64_t row) {
    for (auto& [key, tile] : tiles_) tile.cut(key, row);
}

Tile* TileStore::find(const TileKey& key) {
    const auto found = tiles_.find(key);
    return found == tiles_.end() ? nullptr : &found->second;
}

Tile* TileStore::make(const TileKey& key, std::uint64_t update) {
    if (Tile* there = find(key)) return there;
    if (free_.empty()) {
        const auto oldest = std::ranges::min_element(tiles_, {}, [](const auto& entry) { return entry.second.used; });
        if (oldest->second.used >= update) return nullptr;
        free_.push_back(oldest->second.slot);
        tiles_.erase(oldest);
        ++evicted_;
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    return &(tiles_[key] = {.slot = slot, .done = key.first_row(), .rows = 0, .used = update});
}

}  // namespace vantage::view
