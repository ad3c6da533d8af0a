// The inside of a matrix product by tiles, c = a b: a workgroup of 16 x 16 invocations makes a 64 x 64 tile of c, each
// invocation 4 x 4 of it in registers. Slices of 16 k go through shared memory (8.5 KiB), padded by one column against bank
// conflicts.
//
// The including kernel declares local_size and says before what its tile is made of, 0 beyond the edges:
//   float tile_a_at(uint row, uint k), float tile_b_at(uint k, uint col); and TRANSPOSE_A, TRANSPOSE_B: which axis is
//   contiguous, so that neighbouring lanes read neighbouring addresses.
// Loops over registers are unrolled and have no branch inside: else some compilers keep the arrays in memory.
#extension GL_EXT_control_flow_attributes : require

const uint TILE = 64u, DEPTH = 16u, SIDE = 16u, EACH = 4u;
shared float tile_a[DEPTH][TILE + 1u];
shared float tile_b[DEPTH][TILE + 1u];

void fetch_slice(uint lane, uint k0) {
    for (uint i = lane; i < TILE * DEPTH; i += SIDE * SIDE) {
        uint r = TRANSPOSE_A ? i % TILE : i / DEPTH, kr = TRANSPOSE_A ? i / TILE : i % DEPTH;
        tile_a[kr][r] = tile_a_at(r, k0 + kr);
        uint c = TRANSPOSE_B ? i / DEPTH : i % TILE, kc = TRANSPOSE_B ? i % DEPTH : i / TILE;
        tile_b[kc][c] = tile_b_at(k0 + kc, c);
    }
}

// This invocation's part: rows y + i SIDE and columns x + j SIDE of the tile.
void multiply_tile(uint depth, out float sums[EACH][EACH]) {
    uint lane = gl_LocalInvocationID.x, x = lane % SIDE, y = lane / SIDE;
    [[unroll]] for (uint i = 0u; i < EACH; ++i)
        [[unroll]] for (uint j = 0u; j < EACH; ++j) sums[i][j] = 0.0;
    for (uint k0 = 0u; k0 < depth; k0 += DEPTH) {
        fetch_slice(lane, k0);
        barrier();
        for (uint k = 0u; k < DEPTH; ++k) {
            float b[EACH];
            [[unroll]] for (uint j = 0u; j < EACH; ++j) b[j] = tile_b[k][x + j * SIDE];
            [[unroll]] for (uint i = 0u; i < EACH; ++i) {
                float a = tile_a[k][y + i * SIDE];
                [[unroll]] for (uint j = 0u; j < EACH; ++j) sums[i][j] += a * b[j];
            }
        }
        barrier();
    }
}

// Cell i of the EACH * EACH that multiply_tile made, for loops that cannot be unrolled: chosen without an index.
float cell_of(float sums[EACH][EACH], uint cell) {
    float value = 0.0;
    [[unroll]] for (uint i = 0u; i < EACH; ++i)
        [[unroll]] for (uint j = 0u; j < EACH; ++j) value = cell == i * EACH + j ? sums[i][j] : value;
    return value;
}
uint row_of_cell(uint cell) { return gl_LocalInvocationID.x / SIDE + cell / EACH * SIDE; }
uint col_of_cell(uint cell) { return gl_LocalInvocationID.x % SIDE + cell % EACH * SIDE; }
