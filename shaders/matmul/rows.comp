// matmul for 1 to 8 rows (a matrix-vector product while tokens are generated), b stored as [n, k]:
//   c[row, col] = activation(alpha sum_k a[row, k] b[col, k] + bias[col]) + beta residual[row, col].
//
// Bound by reading b once. One workgroup per COLS rows of b, all rows of a at once; lanes stride over k by four elements,
// so that neighbouring lanes read neighbouring 16 bytes; partial sums meet in a reduction. A workgroup is one subgroup
// where the device has one size, and then needs no barrier.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 32, local_size_x_id = 0) in;
#include "lib/index.glsl"
#include "lib/matmul.glsl"
#include "lib/reduce.glsl"
layout(constant_id = 7) const uint ROWS = 1;
const uint COLS = 4u;

void main() {
    uint lane = gl_LocalInvocationID.x, col0 = workgroup_index() * COLS;
    if (col0 >= p.n) return;
    float sums[ROWS][COLS];
    for (uint r = 0u; r < ROWS; ++r)
        for (uint c = 0u; c < COLS; ++c) sums[r][c] = 0.0;
    for (uint k = lane * 4u; k < p.k; k += gl_WorkGroupSize.x * 4u) {
        vec4 b[COLS];
        for (uint c = 0u; c < COLS; ++c) b[c] = load4(p.b, B_TYPE, min(col0 + c, p.n - 1u) * p.k + k);
        for (uint r = 0u; r < ROWS; ++r) {
            vec4 a = load4(p.a, A_TYPE, r * p.k + k);
            for (uint c = 0u; c < COLS; ++c) sums[r][c] += dot(a, b[c]);
        }
    }
    for (uint r = 0u; r < ROWS; ++r)
        for (uint c = 0u; c < COLS; ++c) sums[r][c] = workgroup_sum(sums[r][c]);
    // every lane has every sum: they share the writing
    for (uint r = 0u; r < ROWS; ++r)
        for (uint c = 0u; c < COLS; ++c)
            if (lane == (r * COLS + c) % gl_WorkGroupSize.x && col0 + c < p.n)
                store(p.c, A_TYPE, r * p.n + col0 + c, epilogue(sums[r][c], 0u, r, col0 + c));
}
