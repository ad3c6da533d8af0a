// matmul on matrix units: c = activation(alpha a b + bias) + beta residual, operands in f16, sums in f32.
//
// Sums leave through shared memory, four of a row at a time: M rows of each subgroup, padded by 16 bytes.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 128, local_size_x_id = 0) in;
#include "params/matmul.h"
MATMUL_COOPMAT_CONSTANTS(VANTAGE_CONSTANT)
const uint SUM_QUADS = REPEAT_N * N / 4u, SUM_STRIDE = SUM_QUADS + 1u, STAGED = SUBGROUPS_M * SUBGROUPS_N * M * SUM_STRIDE;
#include "lib/matmul_matrices.glsl"

void main() {
    multiply();
    // Band by band of M rows of each subgroup: it is up to the device which lane holds which element of a matrix.
    uint staged = gl_SubgroupID * M * SUM_STRIDE;
    [[dont_unroll]] for (uint band = 0u; band < REPEAT_M; ++band) {
        [[unroll]] for (uint i = 0u; i < REPEAT_M; ++i)
            if (i == band)
                [[unroll]] for (uint j = 0u; j < REPEAT_N; ++j)
                    coopMatStore(sums[i * REPEAT_N + j], vectors, staged + j * N / 4u, SUM_STRIDE, gl_CooperativeMatrixLayoutRowMajor);
        barrier();
        uint row = row0 + (own_m + band) * M, col = col0 + own_n * N;
        [[dont_unroll]] for (uint q = gl_SubgroupInvocationID; q < M * SUM_QUADS; q += gl_SubgroupSize) {
            uint r = q / SUM_QUADS, c = q % SUM_QUADS;
            finish4(uintBitsToFloat(vectors[staged + r * SUM_STRIDE + c]), split, batch, row + r, col + 4u * c);
        }
        barrier();
    }
}
