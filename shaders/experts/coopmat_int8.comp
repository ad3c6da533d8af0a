// expert_linear of quantised W [experts, n, k] with rows rounded to bytes (matmul/round_rows.comp), on matrix units
// (lib/matrix_bytes.glsl): the choices of one expert, in the order of sort_by_expert, are the rows of a matrix product with
// that expert's matrix. Lines beyond the edges repeat the last, and their cells are not stored.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 128, local_size_x_id = 0) in;
#include "params/experts.h"
EXPERT_LINEAR_COOPMAT_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/expert_tiles.glsl"
const uint B_TYPE = W_TYPE;
#include "lib/matrix_bytes.glsl"
#include "lib/matrix_sums.glsl"

ExpertTile tile;
uint col0;
uint from_a(uint row) { return row_of_choice(tile, row) * p.k; }
uint from_b(uint col) { return (tile.expert * p.n + min(col0 + col, p.n - 1u)) * p.k; }
Block block_of_a(uint i) { return block_of_rows(p.x, p.choices / p.share, p.k, i); }
Block block_of_b(uint i) { return block_of_weights(p.w, i); }
void finish_quad(vec4 sums, uint row, uint col) { store_choice(tile, row, col0 + col, sums); }

void main() {
    tile = expert_tile(gl_WorkGroupID.y, TILE_M);
    col0 = gl_WorkGroupID.x * TILE_N;
    if (tile.begin >= tile.end) return;
    if (tile.expert == p.experts) {
        for (uint q = lane; q < TILE_M * TILE_N / 4u; q += LANES) store_choice(tile, q / (TILE_N / 4u), col0 + q % (TILE_N / 4u) * 4u, vec4(0.0));
        return;
    }
    multiply(0u, p.k);
    finish_sums();
}
