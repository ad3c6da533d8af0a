// matmul for 1 to 8 rows (a matrix-vector product while tokens are generated), b stored as [n, k]:
//   c[row, col] = activation(alpha sum_k a[row, k] b[col, k] + bias[col]) + beta residual[row, col].
//
// Bound by reading b once. One workgroup per COLS rows of b and ROWS of a (lib/row_dots.glsl).
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 32, local_size_x_id = 0) in;
#include "lib/index.glsl"
#include "lib/matmul.glsl"
#include "params/matmul.h"
MATMUL_ROWS_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/steps.glsl"
const uint COLS = 4u;
uint row0, col0;

#define A_ROWS p.a
#define A_ROWS_TYPE A_TYPE
#define B_ROWS_TYPE B_TYPE
uint row_a(uint r) { return min(row0 + r, p.m - 1u); }
uint row_b(uint c) { return min(col0 + c, p.n - 1u); }
uvec2 b_rows(uint c) { return p.b; }
#include "lib/row_dots.glsl"

void main() {
    col0 = workgroup_index() * COLS, row0 = gl_WorkGroupID.z * ROWS;
    if (col0 >= p.n) return;
    row_dots(p.k);
    for (uint cell = gl_LocalInvocationID.x; cell < ROWS * COLS; cell += gl_WorkGroupSize.x) {
        uint r = row0 + cell / COLS, col = col0 + cell % COLS;
        if (r < p.m && col < p.n) store(p.c, A_TYPE, r * p.n + col, epilogue(totals[cell], 0u, r, col));
    }
}
