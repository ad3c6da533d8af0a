// attention_backward by the same tiles on matrix units (GL_KHR_cooperative_matrix).
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/attention_backward.h"
ATTENTION_BACKWARD_MATRIX_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/attention_backward_rows.glsl"
#include "lib/attention_matrix_tiles.glsl"
#include "lib/attention_backward_pass.glsl"
