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
#include "lib/experts.glsl"

const uint SIDE_X = 16u, SIDE_Y = 16u, EACH_ROWS = 4u, EACH_COLS = 4u, QUADS = 4u;
const bool A_BY_LINES = true, B_BY_LINES = TRANSPOSED;
uint begin, end, col0;
Row matrix;
shared uint source[SIDE_Y * EACH_ROWS];  // rows of x
vec4 tile_a_at(uint row, uint k) {
    vec4 value = vec4(0.0);
    if (begin + row >= end) return value;
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
    uint tile = gl_WorkGroupID.y, expert = 0u, lane = gl_LocalInvocationID.x;
    for (; expert <= p.experts; ++expert) {
        begin = ReadWords(p.offsets).at[expert], end = ReadWords(p.offsets).at[expert + 1u];
        uint tiles = (end - begin + TILE_ROWS - 1u) / TILE_ROWS;
        if (tile < tiles) break;
        tile -= tiles;
    }
    if (expert > p.experts) return;
    begin += tile * TILE_ROWS, col0 = gl_WorkGroupID.x * TILE_COLS;
    bool none = expert == p.experts;
    if (lane < TILE_ROWS) source[lane] = begin + lane < end ? ReadWords(p.order).at[begin + lane] / p.share : 0u;
    matrix = matrix_of(none ? 0u : expert);
    barrier();
    multiply_tile(0u, none ? 0u : p.k);
    [[dont_unroll]] for (uint i = 0u; i < EACH_ROWS * COL_QUADS; ++i) {
        uint row = begin + tile_row(i / COL_QUADS), col = col0 + tile_col(i % COL_QUADS);
        if (row >= end || col >= p.n) continue;
        vec4 value = sum_at(i);
        [[unroll]] for (uint e = 0u; e < 4u; ++e) value[e] = none || col + e >= p.n ? 0.0 : with_bias(value[e], expert, col + e);
        uint cell = ReadWords(p.order).at[row] * p.n + col;
        if (STEP_N == 4u)
            store4(p.y, X_TYPE, cell, value);
        else
            for (uint e = 0u; e < min(4u, p.n - col); ++e) store(p.y, X_TYPE, cell + e, value[e]);
    }
}
