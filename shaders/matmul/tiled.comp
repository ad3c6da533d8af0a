// matmul by tiles: c[row, col] = activation(alpha sum_k a[row, k] b[k, col] + bias[col]) + beta residual[row, col].
//
// A workgroup of 16 x 16 invocations makes a 64 x 64 tile of c, each invocation 4 x 4 of it in registers. Slices of 16 k
// go through shared memory (8.5 KiB), padded by one column against bank conflicts; cells beyond the edge count as zero.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256, local_size_x_id = 0) in;
#include "lib/matmul.glsl"

const uint TILE = 64u, DEPTH = 16u, SIDE = 16u, EACH = 4u;
shared float tile_a[DEPTH][TILE + 1u];
shared float tile_b[DEPTH][TILE + 1u];

// Neighbouring lanes read neighbouring addresses, whichever axis is contiguous.
void fetch(uint lane, uint row0, uint col0, uint k0, uint a0, uint b0) {
    for (uint i = lane; i < TILE * DEPTH; i += SIDE * SIDE) {
        uint r = TRANSPOSE_A ? i % TILE : i / DEPTH, kr = TRANSPOSE_A ? i / TILE : i % DEPTH;
        bool a_inside = row0 + r < p.m && k0 + kr < p.k;
        tile_a[kr][r] = a_inside ? load(p.a, A_TYPE, a0 + a_index(row0 + r, k0 + kr)) : 0.0;
        uint c = TRANSPOSE_B ? i / DEPTH : i % TILE, kc = TRANSPOSE_B ? i % DEPTH : i / TILE;
        bool b_inside = col0 + c < p.n && k0 + kc < p.k;
        tile_b[kc][c] = b_inside ? load(p.b, B_TYPE, b0 + b_index(k0 + kc, col0 + c)) : 0.0;
    }
}

void main() {
    uint lane = gl_LocalInvocationID.x, x = lane % SIDE, y = lane / SIDE, batch = gl_WorkGroupID.z;
    uint row0 = gl_WorkGroupID.y * TILE, col0 = gl_WorkGroupID.x * TILE;
    uint a0 = a_base(batch), b0 = b_base(batch);
    float sums[EACH][EACH];
    for (uint i = 0u; i < EACH; ++i)
        for (uint j = 0u; j < EACH; ++j) sums[i][j] = 0.0;
    for (uint k0 = 0u; k0 < p.k; k0 += DEPTH) {
        fetch(lane, row0, col0, k0, a0, b0);
        barrier();
        for (uint k = 0u; k < DEPTH; ++k) {
            float a[EACH], b[EACH];
            for (uint i = 0u; i < EACH; ++i) a[i] = tile_a[k][y + i * SIDE];
            for (uint j = 0u; j < EACH; ++j) b[j] = tile_b[k][x + j * SIDE];
            for (uint i = 0u; i < EACH; ++i)
                for (uint j = 0u; j < EACH; ++j) sums[i][j] += a[i] * b[j];
        }
        barrier();
    }
    for (uint i = 0u; i < EACH; ++i)
        for (uint j = 0u; j < EACH; ++j) {
            uint row = row0 + y + i * SIDE, col = col0 + x + j * SIDE;
            if (row < p.m && col < p.n) store(p.c, A_TYPE, (batch * p.m + row) * p.n + col, epilogue(sums[i][j], batch, row, col));
        }
}
