// The end of matmul's kernels for few rows: a workgroup has made ROWS x COLS cells of c, each lane a part of every sum.
#include "lib/row_sums.glsl"

void join_and_store(float sums[ROWS][COLS], uint row0, uint col0) {
    join_sums(sums);
    for (uint cell = gl_LocalInvocationID.x; cell < ROWS * COLS; cell += gl_WorkGroupSize.x) {
        uint r = row0 + cell / COLS, col = col0 + cell % COLS;
        if (r < p.m && col < p.n) store(p.c, A_TYPE, r * p.n + col, epilogue(totals[cell], 0u, r, col));
    }
}
