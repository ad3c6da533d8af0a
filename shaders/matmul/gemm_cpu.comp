// matmul by panels, for devices whose lanes are those of a CPU's vectors and whose barriers are dear:
//   c[row, col] = activation(alpha sum_k a[row, k] b[k, col] + bias[col]) + beta residual[row, col].
//
// Both operands come in panels [k][LANES] of f32 (gemm_cpu_pack.comp), so that memory is read from front to back. A
// workgroup, one subgroup, makes LANES rows of a column for each lane: of each k a whole vector of b
// (lib/cpu_simd.glsl), and each number of a, the same for all lanes, is broadcast into its fma. As many independent sums
// hide the latency of an fma, and fit into the vector registers of any CPU. No shared memory, no barrier.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 8, local_size_x_id = 0) in;
#include "lib/cpu_simd.glsl"
#include "lib/matmul.glsl"
#include "params/matmul.h"
MATMUL_GEMM_CPU_CONSTANTS(VANTAGE_CONSTANT)
const uint QUADS = LANES / 4u;

void main() {
    uint panel_k = padded_k(DEPTH);
    // rows of the same columns follow each other: a panel of b stays in the nearest cache, and a is smaller than b
    uint panel = gl_WorkGroupID.x, columns = gl_WorkGroupID.y, batch = gl_WorkGroupID.z, col = columns * LANES + lane;
    uint64_t b_panel = b_is_shared() ? uint64_t(columns) : uint64_t(batch) * gl_NumWorkGroups.y + columns,
             b = address_of(p.b, F32, b_panel * panel_k * LANES);
    uvec2 a = row_address(p.a, F32, batch * gl_NumWorkGroups.x + panel, panel_k * LANES);
    vec4 sums[QUADS];
    [[unroll]] for (uint q = 0u; q < QUADS; ++q) sums[q] = vec4(0.0);
    uint k = 0u;
    // tested at the end: loads from addresses that are the same for all lanes know no mask, and would run past
    // the last k
    do {
        [[unroll]] for (uint d = 0u; d < DEPTH; ++d) {
            vec4 x = vec4(load_lane_words(b, d * LANES));
            [[unroll]] for (uint q = 0u; q < QUADS; ++q) sums[q] = fma(ReadQuads(a).at[d * QUADS + q], x, sums[q]);
        }
        a = advance(a, DEPTH * LANES * 4u);
        b += DEPTH * LANES * 4u;
        k += DEPTH;
    } while (k < p.k);
    if (col >= p.n) return;
    [[unroll]] for (uint r = 0u; r < LANES; ++r) {
        uint row = panel * LANES + r;
        if (row < p.m) store(p.c, A_TYPE, (batch * p.m + row) * p.n + col, epilogue(sums[r / 4u][r % 4u], batch, row, col));
    }
}
