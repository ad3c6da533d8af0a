// ROWS x COLS sums, of which each lane of a workgroup has a part, become whole: for kernels of few rows. Include after
// ROWS and COLS.
//
// Parts meet in subgroup operations, then in shared memory, one step for each subgroup. A workgroup is one subgroup
// where the device has one size. Loops over `sums` have no branch inside and are unrolled: else some compilers keep it
// in memory and not in registers.
#ifndef VANTAGE_WORKGROUP_REDUCE_SUMS_GLSL
#define VANTAGE_WORKGROUP_REDUCE_SUMS_GLSL
#extension GL_EXT_control_flow_attributes : require
#include "lib/reduce.glsl"

shared float totals[ROWS * COLS];

// Leaves the sum of row r and column c in totals[r * COLS + c], for all invocations to read.
void workgroup_reduce_sums(float sums[ROWS][COLS]) {
    [[unroll]] for (uint r = 0u; r < ROWS; ++r)
        [[unroll]] for (uint c = 0u; c < COLS; ++c) sums[r][c] = part_sum(sums[r][c]);
    for (uint part = 0u; part < parts(); ++part) {  // one after the other: an order that never changes
        if (is_first_of_part(part))
            [[unroll]] for (uint r = 0u; r < ROWS; ++r)
                [[unroll]] for (uint c = 0u; c < COLS; ++c)
                    totals[r * COLS + c] = sums[r][c] + mix(0.0, totals[r * COLS + c], part > 0u);
        barrier();
    }
}
#endif
