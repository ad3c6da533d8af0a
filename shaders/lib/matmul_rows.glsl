// The end of matmul's kernels for few rows: a workgroup has made ROWS x COLS cells of c, each lane a part of every sum.
//
// The parts meet in subgroup operations, then in shared memory, one step for each subgroup. A workgroup is one subgroup where
// the device has one size. Include after ROWS and COLS. Loops over `sums` have no branch inside and are unrolled: else some
// compilers keep it in memory and not in registers.
#extension GL_EXT_control_flow_attributes : require
#include "lib/reduce.glsl"
shared float totals[ROWS * COLS];

void join_and_store(float sums[ROWS][COLS], uint row0, uint col0) {
    uint lane = gl_LocalInvocationID.x;
    [[unroll]] for (uint r = 0u; r < ROWS; ++r)
        [[unroll]] for (uint c = 0u; c < COLS; ++c) sums[r][c] = part_sum(sums[r][c]);
    for (uint part = 0u; part < parts(); ++part) {  // one after the other: an order that never changes
        if (is_first_of_part(part))
            [[unroll]] for (uint r = 0u; r < ROWS; ++r)
                [[unroll]] for (uint c = 0u; c < COLS; ++c)
                    totals[r * COLS + c] = sums[r][c] + mix(0.0, totals[r * COLS + c], part > 0u);
        barrier();
    }
    for (uint cell = lane; cell < ROWS * COLS; cell += gl_WorkGroupSize.x) {
        uint r = row0 + cell / COLS, col = col0 + cell % COLS;
        if (r < p.m && col < p.n) store(p.c, A_TYPE, r * p.n + col, epilogue(totals[cell], 0u, r, col));
    }
}
