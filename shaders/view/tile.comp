// Cells of a tile, each from the weights that it covers: their sum over the keys, mean over the queries that there are,
// so that rows sum to 1 at every level; and the largest of them.
//
// A workgroup makes as many cells as its lanes can share: a lane has one weight of a small cell, or strides over a
// large one. A launch takes a range of rows, whole cells or a part of a row of cells (lib/cells.glsl).
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "params/view.h"
#include "lib/index.glsl"
#include "lib/slots.glsl"
layout(push_constant) uniform Push { ViewTileParams t; };
#include "lib/shown_weight.glsl"
#include "lib/cells.glsl"

shared vec2 parts[gl_WorkGroupSize.x];

// Whether a causal mask hides all of a cell.
bool hidden(uint last_row, uint first_column) {
    return p.causal != 0u && PREFIX == 0u && first_column > last_row + (t.relative != 0u ? t.origin : 0u);
}

void main() {
    uint size = 1u << t.level, lanes = min(gl_WorkGroupSize.x, t.level < 8u ? size * size : gl_WorkGroupSize.x);
    uint part = gl_LocalInvocationID.x % lanes;
    uint cell = workgroup_index() * (gl_WorkGroupSize.x / lanes) + gl_LocalInvocationID.x / lanes;
    uint cell_row = (t.begin - t.first_row) / size + cell / TILE_CELLS, cell_column = cell % TILE_CELLS;
    uint first = t.first_row + cell_row * size, column = t.first_column + cell_column * size;
    uint begin = max(first, t.begin), end = min(first + size, t.end), end_column = min(column + size, t.columns);
    vec2 own = vec2(0.0);
    if (begin < end && column < end_column && !hidden(end - 1u, column)) {
        uint row = tokens_before(t.row_slots, begin), high = tokens_before(t.row_slots, end) - row;
        uint left = tokens_before(t.key_slots, column), wide = tokens_before(t.key_slots, end_column) - left;
        for (uint i = part; i < high * wide; i += lanes) {
            float value = shown_weight(row + i / wide, left + i % wide).value;
            own = vec2(own.x + value, max(own.y, value));
        }
    }
    parts[gl_LocalInvocationID.x] = own;
    for (uint half_of = lanes / 2u; half_of > 0u; half_of /= 2u) {
        barrier();
        if (part >= half_of) continue;
        vec2 other = parts[gl_LocalInvocationID.x + half_of];
        own = vec2(own.x + other.x, max(own.y, other.y));
        parts[gl_LocalInvocationID.x] = own;
    }
    if (part > 0u || begin >= end) return;
    put_cell(cell_row * TILE_CELLS + cell_column, first, size, own);
}
