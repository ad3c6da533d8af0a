// ROWS x COLS dot products over k by one workgroup, for kernels of few rows that are bound by reading their weights
// once.
//
// The kernel says where the factors are: vec4 load_a(uint row, uint k) and vec4 load_b(uint col, uint k), STEP elements
// from k on. Lanes stride over k by STEP elements, so that neighbouring lanes read neighbouring 16 bytes.
#include "lib/workgroup_reduce_sums.glsl"

// Leaves row r's product with column c in totals[r * COLS + c], for all invocations to read.
// Loops over `sums` have no branch inside and are unrolled: else some compilers keep it in memory and not in registers.
void row_dots(uint count) {
    uint lane = gl_LocalInvocationID.x;
    float sums[ROWS][COLS];
    [[unroll]] for (uint r = 0u; r < ROWS; ++r)
        [[unroll]] for (uint c = 0u; c < COLS; ++c) sums[r][c] = 0.0;
    for (uint k = lane * STEP; k < count; k += gl_WorkGroupSize.x * STEP) {
        vec4 b[COLS];
        [[unroll]] for (uint c = 0u; c < COLS; ++c) b[c] = load_b(c, k);
        [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
            vec4 a = load_a(r, k);
            [[unroll]] for (uint c = 0u; c < COLS; ++c) sums[r][c] += dot(a, b[c]);
        }
    }
    workgroup_reduce_sums(sums);
}
