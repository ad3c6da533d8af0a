// A tile from the four of the level below: sums over the keys, means over the queries that there are, maxima. One
// invocation a cell.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "lib/index.glsl"
#include "lib/slots.glsl"
#include "params/view.h"
layout(push_constant) uniform Push { ViewPoolParams t; };
layout(buffer_reference, std430, buffer_reference_align = 8) restrict readonly buffer ReadCells { vec2 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) restrict writeonly buffer Cells { vec2 at[]; };

// A cell of the level below: `row` and `column` from 0 to 127.
vec2 small_cell(uint row, uint column) {
    uvec2 left = row < TILE_CELLS ? t.upper_left : t.lower_left, right = row < TILE_CELLS ? t.upper_right : t.lower_right;
    uvec2 tile = column < TILE_CELLS ? left : right;
    return present(tile) ? ReadCells(tile).at[row % TILE_CELLS * TILE_CELLS + column % TILE_CELLS] : vec2(0.0);
}

void main() {
    uint cell = invocation_index();
    if (cell >= TILE_CELLS * TILE_CELLS) return;
    uint row = cell / TILE_CELLS, column = cell % TILE_CELLS, size = 1u << (t.level - 1u);
    vec2 sum = vec2(0.0);
    float queries = 0.0;
    for (uint half_of = 0u; half_of < 2u; ++half_of) {
        uint first = t.first_row + (2u * row + half_of) * size;
        if (first >= t.rows) continue;
        vec2 left = small_cell(2u * row + half_of, 2u * column), right = small_cell(2u * row + half_of, 2u * column + 1u);
        float count = float(tokens_before(t.row_slots, min(first + size, t.rows)) - tokens_before(t.row_slots, first));
        sum = vec2(sum.x + count * (left.x + right.x), max(sum.y, max(left.y, right.y)));
        queries += count;
    }
    Cells(t.cells).at[cell] = vec2(queries > 0.0 ? sum.x / queries : 0.0, sum.y);
}
