// matmul for 1 to 8 rows of a and quantised b, stored as [n, k] in blocks along k:
//   c[row, col] = activation(alpha sum_k a[row, k] b[col, k] + bias[col]) + beta residual[row, col].
//
// TEAM lanes make COLS columns for ROWS rows. Each takes quarters of blocks (8 elements: 4 or 8 bytes of b), and a block's scale
// multiplies what 8 products sum up to: the integers become floats in registers, and b is never written anywhere in f32.
// TEAM = 1: a lane goes along its own row of b and all lanes look at the same part of a: for devices whose lanes are a CPU's
// vector, where this makes a a broadcast and leaves nothing to reduce. Else the workgroup shares rows of b, so that neighbouring
// lanes read neighbouring words.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 32, local_size_x_id = 0) in;
#include "lib/index.glsl"
#include "lib/matmul.glsl"
layout(constant_id = 7) const uint ROWS = 1;  // 1, 4 or 8
layout(constant_id = 8) const uint COLS = 1;
#include "lib/join_sums.glsl"
#ifdef USE_SUBGROUP
#define TEAM gl_WorkGroupSize.x
const uint QUARTERS = 1u;  // of a block that a lane takes at a time
#else
const uint TEAM = 1u, QUARTERS = 4u;
#endif

float chain(vec4 a, vec4 b, float sum) { return fma(a.w, b.w, fma(a.z, b.z, fma(a.y, b.y, fma(a.x, b.x, sum)))); }

// Quarters from `quarter` on, which are all of one block.
void add_quarters(uint row0, uint col0, uint quarter, inout float sums[ROWS][COLS]) {
    uint k0 = quarter / 4u * QUANT_BLOCK, block[COLS];
    float scale[COLS];
    [[unroll]] for (uint c = 0u; c < COLS; ++c) {
        block[c] = min(col0 + c, p.n - 1u) * p.k + k0;
        scale[c] = block_scale(p.b, B_TYPE, block[c]);
    }
    [[unroll]] for (uint i = 0u; i < QUARTERS; ++i) {
        uint q = QUARTERS == 4u ? i : quarter % 4u;
        Quarter b[COLS];
        [[unroll]] for (uint c = 0u; c < COLS; ++c) b[c] = quants8(p.b, B_TYPE, block[c], q);
        [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
            uint at = min(row0 + r, p.m - 1u) * p.k + k0 + quarter_first(B_TYPE, q);
            vec4 first = load4(p.a, A_TYPE, at), second = load4(p.a, A_TYPE, at + quarter_stride(B_TYPE));
            [[unroll]] for (uint c = 0u; c < COLS; ++c)
                sums[r][c] = fma(scale[c], chain(second, b[c].second, chain(first, b[c].first, 0.0)), sums[r][c]);
        }
    }
}

void main() {
    uint lane = gl_LocalInvocationID.x, row0 = gl_WorkGroupID.z * ROWS;
    uint col0 = (workgroup_index() * (gl_WorkGroupSize.x / TEAM) + lane / TEAM) * COLS;
    if (col0 >= p.n) return;
    float sums[ROWS][COLS];
    [[unroll]] for (uint r = 0u; r < ROWS; ++r)
        [[unroll]] for (uint c = 0u; c < COLS; ++c) sums[r][c] = 0.0;
    for (uint quarter = lane % TEAM * QUARTERS; quarter < p.k / 8u; quarter += TEAM * QUARTERS)
        add_quarters(row0, col0, quarter, sums);
#ifdef USE_SUBGROUP
    join_sums(sums);
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
