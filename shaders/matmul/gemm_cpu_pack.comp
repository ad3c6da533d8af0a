// First half of matmul by panels: copies a [m, k] into panels [ceil(m / ROWS)][k][ROWS] of f32. Rows beyond the last
// are 0.
//
// An invocation turns four rows of four k (k is a multiple of 4, ROWS too). Panels follow each other, then batches.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "lib/index.glsl"
#include "lib/matmul.glsl"
#include "params/matmul.h"
MATMUL_GEMM_CPU_PACK_CONSTANTS(VANTAGE_CONSTANT)

vec4 four_k(uint batch, uint row, uint k) {
    if (row >= p.m) return vec4(0.0);
    uint base = a_base(batch);
    if (!TRANSPOSE_A) return load4(p.a, A_TYPE, base + row * p.k + k);
    vec4 value;
    [[unroll]] for (uint i = 0u; i < 4u; ++i) value[i] = load(p.a, A_TYPE, base + a_index(row, k + i));
    return value;
}

void main() {
    uint i = invocation_index(), quads = ROWS / 4u, steps = p.k / 4u, panels = (p.m + ROWS - 1u) / ROWS;
    uint quad = i % quads, k = i / quads % steps * 4u, panel = i / (quads * steps) % panels, batch = i / (quads * steps * panels);
    if (batch >= p.batches) return;
    uint row = panel * ROWS + quad * 4u;
    vec4 r0 = four_k(batch, row, k), r1 = four_k(batch, row + 1u, k), r2 = four_k(batch, row + 2u, k), r3 = four_k(batch, row + 3u, k);
    uint to = ((batch * panels + panel) * p.k + k) * quads + quad;
    [[unroll]] for (uint d = 0u; d < 4u; ++d) Quads(p.c).at[to + d * quads] = vec4(r0[d], r1[d], r2[d], r3[d]);
}
