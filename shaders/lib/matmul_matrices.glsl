// What the kernels of matmul on matrix units share (matmul/coopmat.comp, matmul/coopmat2.comp): one workgroup per tile of
// c, batch and part of k.
#include "lib/matmul_store.glsl"
const bool A_ALONG_K = !TRANSPOSE_A, B_ALONG_K = TRANSPOSE_B;
#include "lib/matrix_tile.glsl"

uint split = gl_WorkGroupID.z % p.k_splits, batch = gl_WorkGroupID.z / p.k_splits;
uint line_of_a(uint line) { return min(row0 + line, p.m - 1u); }

void multiply_own_tile() {
    a = Factor(p.a, a_base(batch), p.m), b = Factor(p.b, b_base(batch), p.n);
    row0 = gl_WorkGroupID.y * TILE_M, col0 = gl_WorkGroupID.x * TILE_N;
    k_begin = split * p.k_per_split, k_end = min(p.k, k_begin + p.k_per_split);
    multiply();
}
