// expert_linear by tiles (lib/tile.glsl): the choices of one expert, in the order of sort_by_expert, are the rows of a
// matrix product with that expert's matrix.
//
// Grid (ceil(n / 64), ceil(choices / 64) + experts + 1): as many tiles as there can be, however choices are shared out; a
// workgroup finds its expert by walking over the offsets, and those that are left over end. The last group are the choices
// without an expert: zeros.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256, local_size_x_id = 0) in;
#include "lib/experts.glsl"

const bool TRANSPOSE_A = false, TRANSPOSE_B = TRANSPOSED;
uint begin, end, col0;
Row matrix;
shared uint source[64];  // rows of x
float tile_a_at(uint row, uint k) { return begin + row < end && k < p.k ? load(p.x, X_TYPE, source[row] * p.k + k) : 0.0; }
float tile_b_at(uint k, uint col) {
    return col0 + col < p.n && k < p.k ? weight_at(matrix, k, col0 + col) : 0.0;
}
#include "lib/tile.glsl"

void main() {
    uint tile = gl_WorkGroupID.y, expert = 0u, lane = gl_LocalInvocationID.x;
    for (; expert <= p.experts; ++expert) {
        begin = ReadWords(p.offsets).at[expert], end = ReadWords(p.offsets).at[expert + 1u];
        uint tiles = (end - begin + TILE - 1u) / TILE;
        if (tile < tiles) break;
        tile -= tiles;
    }
    if (expert > p.experts) return;
    begin += tile * TILE, col0 = gl_WorkGroupID.x * TILE;
    bool none = expert == p.experts;
    if (lane < TILE) source[lane] = begin + lane < end ? ReadWords(p.order).at[begin + lane] / p.share : 0u;
    matrix = matrix_of(none ? 0u : expert);
    barrier();
    float sums[EACH][EACH];
    multiply_tile(none ? 0u : p.k, sums);
    for (uint cell = 0u; cell < EACH * EACH; ++cell) {
        uint row = begin + row_of_cell(cell), col = col0 + col_of_cell(cell);
        if (row >= end || col >= p.n) continue;
        float value = none ? 0.0 : with_bias(cell_of(sums, cell), expert, col);
        store(p.y, X_TYPE, ReadWords(p.order).at[row] * p.n + col, value);
    }
}
