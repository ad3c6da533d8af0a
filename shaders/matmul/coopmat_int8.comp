// matmul of quantised b [n, k] with rows rounded to bytes (round_rows.comp), on matrix units:
//   c[row, col] = activation(alpha sum over blocks of d_a d_b (q_a · q_b) + bias[col]) + beta residual[row, col].
//
// One workgroup per tile of c and part of k (lib/matrix_bytes.glsl). Lines beyond the edges repeat the last, and their
// cells are not stored.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 128, local_size_x_id = 0) in;
#include "params/matmul.h"
MATMUL_COOPMAT_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/matmul_store.glsl"
#include "lib/matrix_bytes.glsl"
#include "lib/matrix_sums.glsl"

uint split = gl_WorkGroupID.z, row0, col0;
uint from_a(uint row) { return min(row0 + row, p.m - 1u) * p.k; }
uint from_b(uint col) { return min(col0 + col, p.n - 1u) * p.k; }
Block block_of_a(uint i) { return block_of_rows(p.a, p.m, p.k, i); }
Block block_of_b(uint i) { return block_of_weights(p.b, i); }
void finish_quad(vec4 sums, uint row, uint col) { finish4(sums, split, 0u, row0 + row, col0 + col); }

void main() {
    uint k_begin = split * p.k_per_split;
    row0 = gl_WorkGroupID.y * TILE_M, col0 = gl_WorkGroupID.x * TILE_N;
    multiply(k_begin, min(p.k, k_begin + p.k_per_split));
    finish_sums();
}
