// matmul on matrix units: c = activation(alpha a b + bias) + beta residual, operands in f16, sums in f32.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 128, local_size_x_id = 0) in;
#include "params/matmul.h"
MATMUL_COOPMAT_CONSTANTS(VANTAGE_CONSTANT)
const bool STAGED = true;
#include "lib/matmul_matrices.glsl"
#include "lib/matrix_sums.glsl"

void finish_quad(vec4 sums, uint row, uint col) { finish4(sums, split, batch, row0 + row, col0 + col); }

void main() {
    multiply_own_tile();
    finish_sums();
}
