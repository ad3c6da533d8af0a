// matmul in f16 arithmetic, with sums in f32: c[row, col] = activation(alpha sum_k a[row, k] b[col, k] + bias[col]) +
// beta residual[row, col].
//
// One workgroup per tile of c, batch and part of k (lib/line_tile.glsl). Two neighbours along k are one word, and one
// instruction where a device multiplies pairs of halves. Of 16 k each half sums 8 products in f16, which are then added
// in f32: an error of some 2^-12 of their size, whatever k. Products beyond 65504 become infinite, which shows.
//
// With USE_FLOAT_DOT a pair of products is added to a sum in f32 by one instruction: no product is rounded to f16.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/matmul.h"
MATMUL_FP16_CONSTANTS(VANTAGE_CONSTANT)
#ifdef USE_FLOAT_DOT
#extension GL_EXT_spirv_intrinsics : require
// OpFDot2MixAcc32VALVE: sum + a.x b.x + a.y b.y
spirv_instruction(extensions = ["SPV_VALVE_mixed_float_dot_product"], capabilities = [6912], id = 6916)
float dot2(f16vec2 a, f16vec2 b, float sum);
#endif
#include "lib/fp16.glsl"
#include "lib/matmul_store.glsl"

const uint DEPTH = 16u;
const bool SCALED = false;
uint row0, col0, a0, b0, k_end;

uint begin_of_a(uint row) { return a0 + min(row0 + row, p.m - 1u) * p.k; }
uint begin_of_b(uint col) { return b0 + min(col0 + col, p.n - 1u) * p.k; }
uvec4 half_of_a(uint begin, uint k, uint part) { return load_line(p.a, A_TYPE, begin, k + 8u * part, k_end, STEP_K); }
uvec4 half_of_b(uint begin, uint k, uint part) { return load_line(p.b, B_TYPE, begin, k + 8u * part, k_end, STEP_K); }
float scale_of_a(uint begin, uint k) { return 1.0; }
float scale_of_b(uint begin, uint k) { return 1.0; }

#ifdef USE_FLOAT_DOT
float add_products(float sum, uvec4 first_a, uvec4 second_a, uvec4 first_b, uvec4 second_b) {
    [[unroll]] for (uint i = 0u; i < 4u; ++i) sum = dot2(unpackFloat2x16(first_a[i]), unpackFloat2x16(first_b[i]), sum);
    [[unroll]] for (uint i = 0u; i < 4u; ++i) sum = dot2(unpackFloat2x16(second_a[i]), unpackFloat2x16(second_b[i]), sum);
    return sum;
}
#else
f16vec2 add_pairs(f16vec2 sum, uvec4 a, uvec4 b) {
    [[unroll]] for (uint i = 0u; i < 4u; ++i) sum = fma(unpackFloat2x16(a[i]), unpackFloat2x16(b[i]), sum);
    return sum;
}
float add_products(float sum, uvec4 first_a, uvec4 second_a, uvec4 first_b, uvec4 second_b) {
    f16vec2 pair = add_pairs(add_pairs(f16vec2(0.0), first_a, first_b), second_a, second_b);
    return sum + (float(pair.x) + float(pair.y));
}
#endif
#include "lib/line_tile.glsl"

void main() {
    uint split = gl_WorkGroupID.z % p.k_splits, batch = gl_WorkGroupID.z / p.k_splits, k_begin = split * p.k_per_split;
    row0 = gl_WorkGroupID.y * TILE_ROWS, col0 = gl_WorkGroupID.x * TILE_COLS;
    a0 = a_base(batch), b0 = b_base(batch), k_end = min(p.k, k_begin + p.k_per_split);
    multiply_tile(k_begin, k_end);
    [[dont_unroll]] for (uint i = 0u; i < EACH_ROWS; ++i) finish4(sum_at(i), split, batch, row0 + tile_row(i), col0 + 4u * lane_x);
}
