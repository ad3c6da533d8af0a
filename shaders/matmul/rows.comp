// matmul for 1 to 8 rows (a matrix-vector product while tokens are generated), b stored as [n, k]:
//   c[row, col] = activation(alpha sum_k a[row, k] b[col, k] + bias[col]) + beta residual[row, col].
//
// Bound by reading b once. One workgroup per COLS rows of b and ROWS of a; lanes stride over k by STEP elements,
// so that neighbouring lanes read neighbouring 16 bytes; partial sums meet as in lib/matmul_rows.glsl.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 32, local_size_x_id = 0) in;
#include "lib/index.glsl"
#include "lib/matmul.glsl"
layout(constant_id = 7) const uint ROWS = 1;  // 1, 4 or 8
layout(constant_id = 8) const uint STEP = 1;  // 4 where k % 4 == 0
#include "lib/steps.glsl"
const uint COLS = 4u;
#include "lib/matmul_rows.glsl"

void main() {
    uint lane = gl_LocalInvocationID.x, col0 = workgroup_index() * COLS, row0 = gl_WorkGroupID.z * ROWS;
    if (col0 >= p.n) return;
    float sums[ROWS][COLS];
    [[unroll]] for (uint r = 0u; r < ROWS; ++r)
        [[unroll]] for (uint c = 0u; c < COLS; ++c) sums[r][c] = 0.0;
    for (uint k = lane * STEP; k < p.k; k += gl_WorkGroupSize.x * STEP) {
        vec4 b[COLS];
        [[unroll]] for (uint c = 0u; c < COLS; ++c) b[c] = load_step(p.b, B_TYPE, min(col0 + c, p.n - 1u) * p.k + k);
        [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
            vec4 a = load_step(p.a, A_TYPE, min(row0 + r, p.m - 1u) * p.k + k);
            [[unroll]] for (uint c = 0u; c < COLS; ++c) sums[r][c] += dot(a, b[c]);
        }
    }
    join_and_store(sums, row0, col0);
}
