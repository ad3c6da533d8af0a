// matmul of 1 to 8 rows of a, rounded to bytes (lib/round_bytes.glsl), and quantised b, stored as [n, k]:
//   c[row, col] = activation(alpha sum over blocks of d_a d_b (q_a · q_b) + bias[col]) + beta residual[row, col].
//
// As matmul/quantized_rows.comp, with products of four bytes at once (lib/quantized_dots.glsl).
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 32, local_size_x_id = 0) in;
#define INT8
#include "lib/int8.glsl"
#include "lib/quantized_rows.glsl"
