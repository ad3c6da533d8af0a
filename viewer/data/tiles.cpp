#include "viewer/data/tiles.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/at.h"
#include "runtime/gpu/transfer.h"
#include "runtime/graph/op_def.h"

namespace vantage::view {

namespace {

constexpr std::uint64_t slot_bytes = 2 * sizeof(float) * TILE_CELLS * TILE_CELLS;

/// Weights of rows [begin, end) that a tile covers: those that a causal mask shows, about.
double weights_in(const TileKey& key, const Extent& extent, std::int64_t begin, std::int64_t end) {
    const auto width = static_cast<double>(std::min(key.span(), extent.columns() - key.first_column()));
    const auto rows = static_cast<double>(end - begin);
    if (!extent.causal) return rows * width;
    const auto seen = [&](std::int64_t row) {
        return std::clamp(static_cast<double>(row + 1 - key.first_column()), 0.0, width);
    };
    return rows * 0.5 * (seen(begin) + seen(end - 1));
}

/// The end of a slice from `begin` on of about `rows` rows, at least `unit`: whole rows of cells, or a part of one.
std::int64_t slice_end(const TileKey& key, std::int64_t begin, std::int64_t rows, std::int64_t unit, std::int64_t end) {
    const std::int64_t size = std::int64_t{1} << key.level, cell_end = (begin / size + 1) * size;
    const std::int64_t wanted = begin + std::max(rows, unit);
    if (wanted >= end) return end;
    return wanted < cell_end ? wanted : wanted / size * size;
}

}  // namespace

Tiles::Tiles(gpu::DeviceState& device, std::size_t slots)
    : device_(device),
      store_(slots),
      pool_(gpu::allocate(device, slots * slot_bytes, gpu::MemoryKind::device, "view.tiles")) {}

std::uint64_t Tiles::slot_address(const Tile& tile) const { return pool_.address() + tile.slot * slot_bytes; }

bool Tiles::complete(const TileKey& key, const Extent& extent) {
    const Tile* tile = store_.find(key);
    return tile != nullptr && tile->complete(key, extent.rows);
}

// As many of the four tiles below as are whole: the upper two give the upper half, all of them everything.
void Tiles::pool(const TileKey& key, Tile& tile, const Extent& extent, ViewWork& work) {
    std::array<std::uint64_t, 4> addresses{};
    std::int64_t done = tile.done;
    for (int down = 0; down < 2; ++down) {
        bool whole = true;
        for (int right = 0; right < 2; ++right) {
            const TileKey child = key.child(down, right);
            if (!extent.holds(child)) continue;
            whole = whole && complete(child, extent);
            if (whole) at(addresses, 2 * down + right) = slot_address(*store_.find(child));
        }
        if (!whole) break;
        done = key.child(down, 0).end_row(extent.rows);
    }
    if (done <= tile.done) return;
    const auto words = [&](std::size_t i) {
        return address_words(addresses[i] != 0 ? addresses[i] : absent(pool_.address()));
    };
    work.add(Work::pool, {.module = "view_pool", .spec = {workgroup_size(device_.caps(), 64)}},
             params::ViewPoolParams{.cells = address_words(slot_address(tile)),
                                    .upper_left = words(0),
                                    .upper_right = words(1),
                                    .lower_left = words(2),
                                    .lower_right = words(3),
                                    .row_slots = extent.row_slots,
                                    .first_row = static_cast<std::uint32_t>(key.first_row()),
                                    .level = static_cast<std::uint32_t>(key.level),
                                    .rows = static_cast<std::uint32_t>(extent.rows)},
             flat_grid(TILE_CELLS * TILE_CELLS / workgroup_size(device_.caps(), 64), device_.caps()), 0);
    tile.done = done, tile.rows = key.end_row(extent.rows);
    ++pooled_;
}

void Tiles::make_rows(const TileKey& key, Tile& tile, const HeadId& head, const ViewSources::Layer& layer,
                      const Extent& extent, const Look& look, ViewWork& work) {
    const std::int64_t end = std::min(key.end_row(extent.rows), look.number == 0 ? extent.rows : look.rows_ready);
    const std::int64_t begin = tile.done;
    const bool streams = layer.streams(key.level, end - begin) && !key.relative && extent.plain();
    const Work kind = streams ? Work::stream : Work::tile;
    if (begin >= end || work.room(kind) <= 0) return;
    const auto width = static_cast<double>(layer.sizes.d);
    const double each = std::max(1.0, width * weights_in(key, extent, end - 1, end));
    const std::int64_t unit = streams ? layer.stream.rows(key.level) : 1;
    const std::int64_t to = slice_end(key, begin, static_cast<std::int64_t>(work.room(kind) / each), unit, end);
    const std::int64_t cell_rows = ((to - 1) >> key.level) - (begin >> key.level) + 1;
    const auto u = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
    const params::ViewTileParams params{.source = address_words(layer.address),
                                        .cells = address_words(slot_address(tile)),
                                        .row_factors = look.row_factors,
                                        .key_factors = look.key_factors,
                                        .distance_means = look.distance_means,
                                        .row_slots = extent.row_slots,
                                        .key_slots = key.relative ? params::uvec2{} : extent.key_slots,
                                        .head = u(head.head),
                                        .level = u(key.level),
                                        .first_row = u(key.first_row()),
                                        .first_column = u(key.first_column()),
                                        .begin = u(begin),
                                        .end = u(to),
                                        .rows = u(extent.rows),
                                        .columns = u(extent.columns()),
                                        .keys = u(extent.own_keys),
                                        .rows_before = u(tile.rows),
                                        .relative = key.relative,
                                        .origin = u(extent.origin())};
    const double products = width * weights_in(key, extent, begin, to);
    if (streams) {
        const std::int64_t at_once = std::max<std::int64_t>(layer.stream.rows(key.level) >> key.level, 1);
        work.add(kind, layer.stream_kernel(key.level), params,
                 flat_grid(ceil_div(cell_rows, at_once) * (TILE_CELLS / STREAM_STRIP), device_.caps()), products);
    } else {
        const std::uint32_t lanes = layer.spec.front(), level = u(key.level);
        const std::uint32_t cell_lanes = std::min(lanes, level < 8 ? 1u << (2 * level) : lanes);
        work.add(kind, layer.kernel("view_tile"), params,
                 flat_grid(ceil_div(cell_rows * TILE_CELLS, lanes / cell_lanes), device_.caps()), products);
    }
    tile.done = to, tile.rows = key.end_row(extent.rows);
}

bool Tiles::advance(const TileKey& key, const HeadId& head, const ViewSources::Layer& layer, const Extent& extent,
                    const Look& look, ViewWork& work, std::uint64_t update) {
    if (work.room(Work::pool) <= 0) return complete(key, extent);
    Tile* tile = store_.make(key, update);
    if (tile == nullptr) return true;  // more is wanted than there is memory for
    tile->used = update;
    if (tile->complete(key, extent.rows)) return true;
    // Back in time cells that the text ends in hold rows too many: they are made again.
    if (const std::int64_t end = key.end_row(extent.rows); tile->rows > end) tile->cut(key, end);
    if (key.level > 0) pool(key, *tile, extent, work);
    if (!tile->complete(key, extent.rows)) make_rows(key, *tile, head, layer, extent, look, work);
    if (!tile->complete(key, extent.rows)) return false;
    ++made_;
    return true;
}

std::uint32_t Tiles::word(const TileKey& key, const Extent& extent, std::uint64_t update) {
    const auto word_of = [&](const Tile& tile, const TileKey& own, int coarser) {
        return (tile.slot + 1) << 12 | static_cast<std::uint32_t>(coarser) << 8 |
               static_cast<std::uint32_t>(tile.ready(own) + 1);
    };
    Tile* own = store_.find(key);
    if (own != nullptr) own->used = update;
    if (own != nullptr && own->complete(key, extent.rows)) return word_of(*own, key, 0);
    for (int coarser = 1; coarser < 12; ++coarser) {
        const TileKey above = key.ancestor(coarser);
        if (Tile* tile = store_.find(above); tile != nullptr && complete(above, extent)) {
            tile->used = update;
            return word_of(*tile, above, coarser);
        }
    }
    return own != nullptr ? word_of(*own, key, 0) : 0;
}

std::vector<float> Tiles::read(std::uint32_t word) const {
    std::vector<float> cells(2 * TILE_CELLS * TILE_CELLS);
    gpu::download(device_, pool_, ((word >> 12) - 1) * slot_bytes, std::as_writable_bytes(std::span(cells)));
    return cells;
}

double Tiles::progress(const TileKey& key, const Extent& extent) {
    const Tile* tile = store_.find(key);
    if (tile == nullptr) return 0;
    return static_cast<double>(tile->done - key.first_row()) /
           static_cast<double>(key.end_row(extent.rows) - key.first_row());
}

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
