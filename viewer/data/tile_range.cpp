#include "viewer/data/tile_range.h"

#include <algorithm>
#include <cmath>

namespace vantage::view {

TileRange tiles_of(const Rectangle& part, const Extent& extent, int level) {
    const auto span = static_cast<double>(std::int64_t{TILE_CELLS} << level);
    const auto tiles = [&](double token, std::int64_t there) {
        return std::clamp(token, 0.0, static_cast<double>(there)) / span;
    };
    const auto first = [&](double token, std::int64_t there) {
        return static_cast<std::int64_t>(std::floor(tiles(token, there)));
    };
    const auto last = [&](double token, std::int64_t there) {
        return static_cast<std::int64_t>(std::ceil(tiles(token, there)));
    };
    return {first(part.first_row, extent.rows), last(part.last_row, extent.rows),
            first(part.first_column, extent.columns()), last(part.last_column, extent.columns())};
}

double visible_area(const TileKey& key, const Rectangle& part) {
    const auto overlap = [&](std::int64_t first, double begin, double end) {
        const auto own = static_cast<double>(first);
        return std::max(0.0, std::min(end, own + static_cast<double>(key.span())) - std::max(begin, own));
    };
    return overlap(key.first_row(), part.first_row, part.last_row) *
           overlap(key.first_column(), part.first_column, part.last_column);
}

int level_for(const Wanted& wanted, const Extent& extent, std::int64_t max_tiles) {
    const double per_pixel = std::max(wanted.part.rows() / std::max(wanted.pixels_high, 1.0),
                                      wanted.part.columns() / std::max(wanted.pixels_wide, 1.0));
    int level = 0;
    while (level < 20 && std::ldexp(1.0, level) < per_pixel * 0.999) ++level;
    for (; level < 20; ++level) {
        const TileRange range = tiles_of(wanted.part, extent, level);
        if (range.rows() * range.columns() <= max_tiles) break;
    }
    return level;
}

}  // namespace vantage::view
