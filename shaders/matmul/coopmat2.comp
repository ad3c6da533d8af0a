// matmul on matrix units that also compute with single elements (GL_NV_cooperative_matrix2): as matmul/coopmat.comp,
// but sums leave from the registers, where an element knows its row and column, without shared memory and barriers.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_NV_cooperative_matrix2 : require
layout(local_size_x = 128, local_size_x_id = 0) in;
#include "params/matmul.h"
MATMUL_COOPMAT_CONSTANTS(VANTAGE_CONSTANT)
const bool STAGED = false;
#include "lib/matmul_matrices.glsl"

// Element (r, c) of the matrix whose first one is at (row, col) of c.
float finish_element(const in uint r, const in uint c, const in float product, const in uint row, const in uint col) {
    finish1(product, split, batch, row + r, col + c);
    return product;
}

void main() {
    multiply_own_tile();
    [[unroll]] for (uint i = 0u; i < REPEAT_M; ++i)
        [[unroll]] for (uint j = 0u; j < REPEAT_N; ++j)
            coopMatPerElementNV(sums[i * REPEAT_N + j], sums[i * REPEAT_N + j], finish_element, row0 + (own_m + i) * M,
                                col0 + (own_n + j) * N);
}
