// The body of matmul/quantized_rows.comp and, with INT8, of matmul/int8_rows.comp.
#include "lib/index.glsl"
#include "lib/matmul.glsl"
#include "params/matmul.h"
MATMUL_QUANTIZED_ROWS_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/workgroup_reduce_sums.glsl"
#ifdef USE_SUBGROUP
#define TEAM gl_WorkGroupSize.x
const uint QUARTERS = 1u;  // of a block that a lane takes at a time
#else
const uint TEAM = 1u, QUARTERS = 4u;
#endif

uint row0, col0;

#define A_ROWS p.a
#define A_ROWS_TYPE A_TYPE
#define B_ROWS_TYPE B_TYPE
#define ROUNDED_ROWS p.m
uint row_a(uint r) { return min(row0 + r, p.m - 1u); }
uint row_b(uint c) { return min(col0 + c, p.n - 1u); }
uvec2 b_rows(uint c) { return p.b; }
#include "lib/quantized_dots.glsl"

void main() {
    uint lane = team_lane();
    row0 = gl_WorkGroupID.z * ROWS, col0 = (workgroup_index() * (gl_WorkGroupSize.x / TEAM) + lane / TEAM) * COLS;
    if (col0 >= p.n) return;
    float sums[ROWS][COLS];
    quantized_dots(p.k, lane % TEAM, TEAM, sums);
#ifdef USE_SUBGROUP
    workgroup_reduce_sums(sums);
    for (uint cell = lane; cell < ROWS * COLS; cell += gl_WorkGroupSize.x) {
        uint r = row0 + cell / COLS, col = col0 + cell % COLS;
        if (r < p.m && col < p.n) store(p.c, A_TYPE, r * p.n + col, epilogue(totals[cell], 0u, r, col));
    }
#else
    [[unroll]] for (uint r = 0u; r < ROWS; ++r)
        [[unroll]] for (uint c = 0u; c < COLS; ++c)
            if (row0 + r < p.m && col0 + c < p.n)
                store(p.c, A_TYPE, (row0 + r) * p.n + col0 + c, epilogue(sums[r][c], 0u, row0 + r, col0 + c));
#endif
}
