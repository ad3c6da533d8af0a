// expert_linear on matrix units (lib/matrix_tile.glsl): the choices of one expert, in the order of sort_by_expert, are the
// rows of a matrix product with that expert's matrix. Operands in f16, sums in f32; rows of x and of W, or of x and
// columns of W, begin on a boundary of eight elements.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 128, local_size_x_id = 0) in;
#include "params/experts.h"
EXPERT_LINEAR_COOPMAT_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/expert_tiles.glsl"
const uint A_TYPE = X_TYPE, B_TYPE = W_TYPE, STEP_A = 8u, STEP_B = 8u;
const bool A_ALONG_K = true, B_ALONG_K = TRANSPOSED, STAGED = true;
#include "lib/matrix_tile.glsl"
#include "lib/matrix_sums.glsl"

ExpertTile tile;
shared uint source[TILE_M];  // rows of x
uint line_of_a(uint line) { return source[line]; }
void finish_quad(vec4 sums, uint row, uint col) { store_choice(tile, row, col0 + col, sums); }

void main() {
    tile = expert_tile(gl_WorkGroupID.y, TILE_M);
    col0 = gl_WorkGroupID.x * TILE_N;
    if (tile.begin >= tile.end) return;
    if (tile.expert == p.experts) {
        for (uint q = lane; q < TILE_M * TILE_N / 4u; q += LANES) store_choice(tile, q / (TILE_N / 4u), col0 + q % (TILE_N / 4u) * 4u, vec4(0.0));
        return;
    }
    for (uint row = lane; row < TILE_M; row += LANES) source[row] = row_of_choice(tile, row);
    barrier();
    Row matrix = matrix_of(tile.expert);
    a = Factor(p.x, 0u, p.choices), b = Factor(matrix.address, matrix.begin, p.n);
    k_begin = 0u, k_end = p.k;
    multiply();
    finish_sums();
}
