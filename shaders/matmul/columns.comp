// matmul for 1 to 8 rows on devices whose lanes are those of a CPU's vectors, b stored as [n, k]:
//   c[row, col] = activation(alpha sum_k a[row, k] b[col, k] + bias[col]) + beta residual[row, col].
//
// Bound by reading b once. An invocation makes one column: it walks along its row of b, DEPTH k at a time, and multiplies with
// numbers of a that are the same for all lanes and come as broadcasts. Nothing is shared and nothing has to be summed up over
// lanes. Four k make a chain of dependent fma; chains meet at the end of a step.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 8, local_size_x_id = 0) in;
#include "lib/matmul.glsl"
#include "lib/wide.glsl"
#include "lib/index.glsl"
layout(constant_id = 7) const uint ROWS = 1;    // 1, 4 or 8
layout(constant_id = 8) const uint DEPTH = 32;  // a multiple of 4; divides k

float chain(float sum, vec4 a, vec4 b) { return fma(a.w, b.w, fma(a.z, b.z, fma(a.y, b.y, fma(a.x, b.x, sum)))); }

void main() {
    uint col = invocation_index();
    uvec2 a[ROWS], b = row_address(p.b, B_TYPE, min(col, p.n - 1u), p.k);
    float sums[ROWS];
    [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
        a[r] = row_address(p.a, A_TYPE, min(r, p.m - 1u), p.k);
        sums[r] = 0.0;
    }
    for (uint k = 0u; k < p.k; k += DEPTH) {
        vec4 x[DEPTH / 4u];  // the first touch of each 64 bytes comes first: misses wait together
        [[unroll]] for (uint i = 0u; i < 4u; ++i)
            [[unroll]] for (uint d = i * 4u; d < DEPTH; d += 16u) x[d / 4u] = LOAD4(b, B_TYPE, d);
        [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
            float s[4] = {sums[r], 0.0, 0.0, 0.0};
            [[unroll]] for (uint d = 0u; d < DEPTH; d += 4u) s[d / 4u % 4u] = chain(s[d / 4u % 4u], load4(a[r], A_TYPE, d), x[d / 4u]);
            sums[r] = (s[0] + s[1]) + (s[2] + s[3]);
            a[r] = advance(a[r], DEPTH * (A_TYPE == F32 ? 4u : 2u));
        }
        b = advance(b, DEPTH * (B_TYPE == F32 ? 4u : 2u));
    }
    if (col >= p.n) return;
    [[unroll]] for (uint r = 0u; r < ROWS; ++r)
        if (r < p.m) store(p.c, A_TYPE, r * p.n + col, epilogue(sums[r], 0u, r, col));
}
