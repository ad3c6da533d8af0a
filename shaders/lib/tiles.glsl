// Reading the maps that the viewer's data is in (params/view.h).
#include "lib/storage.glsl"
#include "params/view.h"
layout(buffer_reference, std430, buffer_reference_align = 8) restrict readonly buffer TileMaps {
    ViewTileMap map;
    uint entries[];
};
layout(buffer_reference, std430, buffer_reference_align = 8) restrict readonly buffer TileCells { vec2 at[]; };

struct MapCell {
    bool known;        // it has been made
    float mass, peak;
    uint level;        // its own: coarser than the map's while that is being refined
};

// The cell of a tile that `entry` names; `row` and `column` are cells of the map's level, counted inside of the map.
MapCell tile_cell(uvec2 pool, uint entry, uint row, uint column, uint level) {
    uint ready = entry & 0xffu, coarser = (entry >> 8) & 15u, slot = entry >> 12;
    uint r = (row >> coarser) % TILE_CELLS, c = (column >> coarser) % TILE_CELLS;
    if (slot == 0u || r + 1u >= ready) return MapCell(false, 0.0, 0.0, level);
    vec2 cell = TileCells(row_address(pool, F32, slot - 1u, TILE_CELLS * TILE_CELLS * 2u)).at[r * TILE_CELLS + c];
    return MapCell(true, cell.x, cell.y, level + coarser);
}

// Whether a cell of the map holds nothing; row and column are cells of its level.
bool map_hides(ViewTileMap map, uint row, uint column) {
    if (map.hidden == MAP_FUTURE) return column > row;
    if (map.hidden != MAP_CORNERS) return false;
    uint keys = map.columns - map.rows + 1u, last_row = ((row + 1u) << map.level) - 1u;
    return column < row || column << map.level > last_row + keys - 1u;
}

// The cell that holds the weight of a query and a column (a key or a distance), both in tokens.
MapCell map_cell(uvec2 address, uint query, uint column) {
    ViewTileMap map = TileMaps(address).map;
    uint r = query >> map.level, c = column >> map.level;
    uint tile_row = r / TILE_CELLS - map.first_tile_row, tile_column = c / TILE_CELLS - map.first_tile_column;
    if (query >= map.rows || column >= map.columns || tile_row >= map.tile_rows || tile_column >= map.tile_columns)
        return MapCell(false, 0.0, 0.0, map.level);
    return tile_cell(map.pool, TileMaps(address).entries[tile_row * map.tile_columns + tile_column], r, c, map.level);
}

// The cell of head number `head` in a map of mini-maps; row and column from 0 to 63.
MapCell mini_map_cell(uvec2 address, uint head, uint row, uint column) {
    ViewTileMap map = TileMaps(address).map;
    return tile_cell(map.pool, TileMaps(address).entries[head], row, column, map.level);
}
