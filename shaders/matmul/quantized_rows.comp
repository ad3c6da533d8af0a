// matmul for 1 to 8 rows of a and quantised b, stored as [n, k] in blocks along k:
//   c[row, col] = activation(alpha sum_k a[row, k] b[col, k] + bias[col]) + beta residual[row, col].
//
// TEAM lanes make COLS columns for ROWS rows (lib/quantized_dots.glsl).
// TEAM = 1: a lane goes along its own row of b and all lanes look at the same part of a: for devices whose lanes are a
// CPU's vector, where this makes a a broadcast and leaves nothing to reduce. Else the workgroup shares rows of b, so
// that neighbouring lanes read neighbouring words.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 32, local_size_x_id = 0) in;
#include "lib/quantized_rows.glsl"
