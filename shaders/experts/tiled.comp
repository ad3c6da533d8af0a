// expert_linear by tiles (lib/register_tile.glsl): the choices of one expert, in the order of sort_by_expert, are the
// rows of a matrix product with that expert's matrix.
//
// Grid (ceil(n / 64), ceil(choices / 64) + experts + 1): as many tiles as there can be, however choices are
// distributed; a workgroup finds its expert by walking over the offsets, and those that are left over end. The last
// group are the choices without an expert: zeros.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/experts.h"
EXPERT_LINEAR_TILED_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/expert_tiles.glsl"

const uint SIDE_X = 16u, SIDE_Y = 16u, EACH_ROWS = 4u, EACH_COLS = 4u, QUADS = 4u;
const bool A_BY_LINES = true, B_BY_LINES = TRANSPOSED;
uint col0;
ExpertTile tile;
Row matrix;
shared uint source[SIDE_Y * EACH_ROWS];  // rows of x
vec4 tile_a_at(uint row, uint k) {
    vec4 value = vec4(0.0);
    if (tile.begin + row >= tile.end) return value;
    if (STEP_K == 4u) return k < p.k ? load4(p.x, X_TYPE, source[row] * p.k + k) : value;
    [[unroll]] for (uint i = 0u; i < 4u; ++i)
        if (k + i < p.k) value[i] = load(p.x, X_TYPE, source[row] * p.k + k + i);
    return value;
}
vec4 tile_b_at(uint k, uint col) {
    vec4 value = vec4(0.0);
    col += col0;
    if (col >= p.n) return value;
    if (STEP_K == 4u && TRANSPOSED) return k < p.k ? load4(matrix.address, W_TYPE, matrix.begin + col * p.k + k) : value;
    [[unroll]] for (uint i = 0u; i < 4u; ++i)
        if (k + i < p.k) value[i] = weight_at(matrix, k + i, col);
    return value;
}
#include "lib/register_tile.glsl"

void main() {
    uint lane = gl_LocalInvocationID.x;
    tile = expert_tile(gl_WorkGroupID.y, TILE_ROWS), col0 = gl_WorkGroupID.x * TILE_COLS;
    if (tile.begin >= tile.end) return;
    bool none = tile.expert == p.experts;
    if (lane < TILE_ROWS) source[lane] = row_of_choice(tile, lane);
    matrix = matrix_of(none ? 0u : tile.expert);
    barrier();
    multiply_tile(0u, none ? 0u : p.k);
    [[dont_unroll]] for (uint i = 0u; i < EACH_ROWS * COL_QUADS; ++i)
        store_choice(tile, tile_row(i / COL_QUADS), col0 + tile_col(i % COL_QUADS), sum_at(i));
}
