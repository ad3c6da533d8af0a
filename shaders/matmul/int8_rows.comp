// matmul of 1 to 8 rows rounded to bytes (round_rows.comp) with quantised b [n, k], by dot products of four bytes:
//   c[row, col] = activation(alpha sum over blocks of d_a d_b (q_a · q_b) + bias[col]) + beta residual[row, col].
//
// As quantized_rows.comp: a workgroup makes COLS columns for ROWS rows, and its lanes divide quarters of blocks, 8
// elements, among them; their products are two instructions and not sixteen.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 32, local_size_x_id = 0) in;
#include "lib/index.glsl"
#include "lib/matmul.glsl"
#include "lib/int8.glsl"
#include "params/matmul.h"
MATMUL_QUANTIZED_ROWS_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/workgroup_reduce_sums.glsl"

void add_quarter(uint row0, uint col0, uint block, uint quarter, inout float sums[ROWS][COLS]) {
    uvec2 b[COLS];
    float scale[COLS];
    [[unroll]] for (uint c = 0u; c < COLS; ++c) {
        uint first = min(col0 + c, p.n - 1u) * p.k + block * QUANT_BLOCK;
        b[c] = int8_quarter(p.b, B_TYPE, first, quarter);
        scale[c] = int8_scale(p.b, B_TYPE, first);
    }
    [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
        uint blocks = min(row0 + r, p.m - 1u) * (p.k / QUANT_BLOCK) + block;
        uint at = (blocks * QUANT_BLOCK + quarter_first(B_TYPE, quarter)) / 4u;
        uint first = ReadWords(p.a).at[at], second = ReadWords(p.a).at[at + quarter_stride(B_TYPE) / 4u];
        float scale_a = ReadFloats(scales_of_rows(p.a, p.m, p.k)).at[blocks];
        [[unroll]] for (uint c = 0u; c < COLS; ++c)
            sums[r][c] = fma(scale_a * scale[c], float(dot4(first, b[c].x) + dot4(second, b[c].y)), sums[r][c]);
    }
}

void main() {
    uint lane = gl_LocalInvocationID.x, row0 = gl_WorkGroupID.z * ROWS, col0 = workgroup_index() * COLS;
    if (col0 >= p.n) return;
    float sums[ROWS][COLS];
    [[unroll]] for (uint r = 0u; r < ROWS; ++r)
        [[unroll]] for (uint c = 0u; c < COLS; ++c) sums[r][c] = 0.0;
    for (uint quarter = lane; quarter < p.k / 8u; quarter += gl_WorkGroupSize.x) add_quarter(row0, col0, quarter / 4u, quarter % 4u, sums);
    workgroup_reduce_sums(sums);
    for (uint cell = lane; cell < ROWS * COLS; cell += gl_WorkGroupSize.x) {
        uint r = row0 + cell / COLS, col = col0 + cell % COLS;
        if (r < p.m && col < p.n) store(p.c, A_TYPE, r * p.n + col, epilogue(totals[cell], 0u, r, col));
    }
}
