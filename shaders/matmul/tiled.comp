// matmul by tiles: c[row, col] = activation(alpha sum_k a[row, k] b[k, col] + bias[col]) + beta residual[row, col].
//
// One workgroup per tile of c, batch and part of k (lib/register_tile.glsl). Operands beyond the edges are zeros, so
// that tiles there take no other path.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/matmul.h"
MATMUL_TILED_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/matmul_store.glsl"

uint row0, col0, a0, b0, k_end;
const bool PREFETCH = true;
const bool A_BY_LINES = !TRANSPOSE_A, B_BY_LINES = TRANSPOSE_B;
vec4 tile_a_at(uint row, uint k) {
    row += row0;
    vec4 value = vec4(0.0);
    if (A_BY_LINES && STEP_K == 4u) {
        if (row < p.m && k < k_end) value = load4(p.a, A_TYPE, a0 + a_index(row, k));
    } else
        [[unroll]] for (uint i = 0u; i < 4u; ++i)
            if (row < p.m && k + i < k_end) value[i] = load(p.a, A_TYPE, a0 + a_index(row, k + i));
    return value;
}
vec4 tile_b_at(uint k, uint col) {
    col += col0;
    vec4 value = vec4(0.0);
    if (B_BY_LINES && STEP_K == 4u) {
        if (col < p.n && k < k_end) value = load4(p.b, B_TYPE, b0 + b_index(k, col));
    } else
        [[unroll]] for (uint i = 0u; i < 4u; ++i)
            if (col < p.n && k + i < k_end) value[i] = load(p.b, B_TYPE, b0 + b_index(k + i, col));
    return value;
}
#include "lib/register_tile.glsl"

void main() {
    uint split = gl_WorkGroupID.z % p.k_splits, batch = gl_WorkGroupID.z / p.k_splits;
    row0 = gl_WorkGroupID.y * TILE_ROWS, col0 = gl_WorkGroupID.x * TILE_COLS;
    a0 = a_base(batch), b0 = b_base(batch);
    uint k_begin = split * p.k_per_split;
    k_end = min(p.k, k_begin + p.k_per_split);
    multiply_tile(k_begin, k_end);
    [[dont_unroll]] for (uint i = 0u; i < EACH_ROWS * COL_QUADS; ++i)
        finish4(sum_at(i), split, batch, row0 + tile_row(i / COL_QUADS), col0 + tile_col(i % COL_QUADS));
}
