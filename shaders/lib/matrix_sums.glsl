// How sums of matrix units (lib/matrix_tile.glsl) leave: through shared memory, four of a row at a time. The including
// kernel defines finish_quad.
void finish_quad(vec4 sums, uint row, uint col);  // columns col … col + 3 of a row of the tile

void finish_sums() {
    // Band by band of M rows of each subgroup: it is up to the device which lane holds which element of a matrix.
    uint staged = gl_SubgroupID * M * SUM_STRIDE;
    [[dont_unroll]] for (uint band = 0u; band < REPEAT_M; ++band) {
        [[unroll]] for (uint i = 0u; i < REPEAT_M; ++i)
            if (i == band)
                [[unroll]] for (uint j = 0u; j < REPEAT_N; ++j)
                    coopMatStore(sums[i * REPEAT_N + j], vectors, staged + j * N / 4u, SUM_STRIDE, gl_CooperativeMatrixLayoutRowMajor);
        barrier();
        [[dont_unroll]] for (uint q = gl_SubgroupInvocationID; q < M * SUM_QUADS; q += gl_SubgroupSize) {
            uint r = q / SUM_QUADS, c = q % SUM_QUADS;
            finish_quad(uintBitsToFloat(vectors[staged + r * SUM_STRIDE + c]), (own_m + band) * M + r, own_n * N + 4u * c);
        }
        barrier();
    }
}
