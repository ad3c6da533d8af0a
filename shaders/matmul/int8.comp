// matmul of quantised b [n, k] with rows rounded to bytes (round_rows.comp), by dot products of four bytes:
//   c[row, col] = activation(alpha sum over blocks of d_a d_b (q_a · q_b) + bias[col]) + beta residual[row, col].
//
// One workgroup per tile and part of k (lib/line_tile.glsl), a block of each line at a time. Sums of a block are
// integers, exact; their scales make them floats. Lines beyond the edges repeat the last, and their cells are not
// stored.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/matmul.h"
MATMUL_INT8_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/matmul_store.glsl"
#include "lib/int8.glsl"

const uint DEPTH = QUANT_BLOCK;
const bool SCALED = true;
uint row0, col0;

uint begin_of_a(uint row) { return min(row0 + row, p.m - 1u) * p.k; }
uint begin_of_b(uint col) { return min(col0 + col, p.n - 1u) * p.k; }
// Offsets in bytes. What does not depend on k is computed once, and what depends on it alone once for all lanes.
uvec4 half_of_a(uint begin, uint k, uint part) { return ReadOctets(advance(advance(p.a, k), begin + 16u * part)).at[0]; }
uvec4 half_of_b(uint begin, uint k, uint part) {
    uint at = block_byte(B_TYPE, begin + k) + (B_TYPE == Q8 ? 16u * part : 0u);
    return bytes_of_half(ReadOctets(advance(p.b, at)).at[0], B_TYPE, part);
}
float scale_of_a(uint begin, uint k) {
    return ReadFloats(advance(advance(scales_of_rows(p.a, p.m, p.k), k / 8u), begin / 8u)).at[0];
}
float scale_of_b(uint begin, uint k) {
    return int8_scale_of_pair(ReadWords(advance(p.b, scale_byte(B_TYPE, begin + k))).at[0], B_TYPE, begin + k);
}
float add_products(float sum, uvec4 a0, uvec4 a1, uvec4 b0, uvec4 b1) {
    return sum + float(add_dots(add_dots(0, a0, b0), a1, b1));
}
#include "lib/line_tile.glsl"

void main() {
    uint split = gl_WorkGroupID.z, k_begin = split * p.k_per_split;
    row0 = gl_WorkGroupID.y * TILE_ROWS, col0 = gl_WorkGroupID.x * TILE_COLS;
    multiply_tile(k_begin, min(p.k, k_begin + p.k_per_split));
    [[dont_unroll]] for (uint i = 0u; i < EACH_ROWS; ++i) finish4(sum_at(i), split, 0u, row0 + tile_row(i), col0 + 4u * lane_x);
}
