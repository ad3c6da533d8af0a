// matmul by tiles: c[row, col] = activation(alpha sum_k a[row, k] b[k, col] + bias[col]) + beta residual[row, col].
//
// One workgroup per 64 x 64 tile of c and batch (lib/tile.glsl).
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256, local_size_x_id = 0) in;
#include "lib/matmul.glsl"

uint row0, col0, a0, b0;
float tile_a_at(uint row, uint k) {
    return row0 + row < p.m && k < p.k ? load(p.a, A_TYPE, a0 + a_index(row0 + row, k)) : 0.0;
}
float tile_b_at(uint k, uint col) {
    return col0 + col < p.n && k < p.k ? load(p.b, B_TYPE, b0 + b_index(k, col0 + col)) : 0.0;
}
#include "lib/tile.glsl"

void main() {
    uint batch = gl_WorkGroupID.z;
    row0 = gl_WorkGroupID.y * TILE, col0 = gl_WorkGroupID.x * TILE;
    a0 = a_base(batch), b0 = b_base(batch);
    float sums[EACH][EACH];
    multiply_tile(p.k, sums);
    for (uint cell = 0u; cell < EACH * EACH; ++cell) {
        uint row = row0 + row_of_cell(cell), col = col0 + col_of_cell(cell);
        if (row < p.m && col < p.n)
            store(p.c, A_TYPE, (batch * p.m + row) * p.n + col, epilogue(cell_of(sums, cell), batch, row, col));
    }
}
