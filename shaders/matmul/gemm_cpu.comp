// matmul by panels, for devices whose lanes are those of a CPU's vectors and whose barriers are dear:
//   c[row, col] = activation(alpha sum_k a[row, k] b[k, col] + bias[col]) + beta residual[row, col].
//
// An invocation makes ROWS rows of one column. It reads DEPTH k of its column of b at a time, which a vector of lanes
// must gather; a comes in panels [k][ROWS] (panels_pack.comp), the same for all lanes, so that each number is read once
// and broadcast into its fma. Four k make a chain of dependent fma, and the chains of a row meet at the end: one long
// chain would wait for itself. Addresses advance and offsets are constants: they become part of the instructions. No
// shared memory, no barrier.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "lib/matmul.glsl"
#include "params/matmul.h"
MATMUL_GEMM_CPU_CONSTANTS(VANTAGE_CONSTANT)

// Four k of this invocation's column of b, `k` after those that were done; `b` has advanced to them.
vec4 four_k(uvec2 b, uint col, uint k) {
    if (TRANSPOSE_B) return load4(b, B_TYPE, k);
    vec4 value;
    [[unroll]] for (uint i = 0u; i < 4u; ++i) value[i] = load(row_address(b, B_TYPE, k + i, p.n), B_TYPE, col);
    return value;
}

// sums += four rows of a by four k, x those k of b.
vec4 four_rows(vec4 sums, uvec2 a, uint row, uint k, vec4 x) {
    [[unroll]] for (uint i = 0u; i < 4u; ++i) sums = fma(ReadQuads(a).at[((k + i) * ROWS + row) / 4u], vec4(x[i]), sums);
    return sums;
}

void main() {
    uint col = gl_GlobalInvocationID.x, panel = gl_WorkGroupID.y, batch = gl_WorkGroupID.z, column = min(col, p.n - 1u);
    uvec2 b = row_address(p.b, B_TYPE, b_base(batch), 1u), a = row_address(p.a, F32, batch * gl_NumWorkGroups.y + panel, p.k * ROWS);
    if (TRANSPOSE_B) b = row_address(b, B_TYPE, column, p.k);
    vec4 sums[ROWS / 4u];
    [[unroll]] for (uint r = 0u; r < ROWS / 4u; ++r) sums[r] = vec4(0.0);
    uint k = 0u;
    // tested at the end: loads from addresses that are the same for all lanes know no mask, and would run past
    // the last k
    do {
        vec4 x[DEPTH / 4u];
        if (is_quantized(B_TYPE)) {  // b [n, k], blocks of 32 k: found by their index, as groups of them go over rows
            uint block = column * p.k + k - k % QUANT_BLOCK;
            float scale = block_scale(p.b, B_TYPE, block);
            [[unroll]] for (uint d = 0u; d < DEPTH; d += 4u)
                x[d / 4u] = scale * quants_of_block(p.b, B_TYPE, block, (k % QUANT_BLOCK + d) / 4u);
        } else
            [[unroll]] for (uint d = 0u; d < DEPTH; d += 4u) x[d / 4u] = four_k(b, column, d);
        [[unroll]] for (uint r = 0u; r < ROWS; r += 4u) {
            vec4 s[4] = {four_rows(sums[r / 4u], a, r, 0u, x[0]), vec4(0.0), vec4(0.0), vec4(0.0)};
            [[unroll]] for (uint d = 4u; d < DEPTH; d += 4u) s[d / 4u] = four_rows(vec4(0.0), a, r, d, x[d / 4u]);
            sums[r / 4u] = (s[0] + s[1]) + (s[2] + s[3]);
        }
        a = advance(a, DEPTH * ROWS * 4u);
        b = row_address(b, B_TYPE, DEPTH, TRANSPOSE_B ? 1u : p.n);
        k += DEPTH;
    } while (k < p.k);
    if (col >= p.n) return;
    [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
        uint row = panel * ROWS + r;
        if (row < p.m) store(p.c, A_TYPE, (batch * p.m + row) * p.n + col, epilogue(sums[r / 4u][r % 4u], batch, row, col));
    }
}
