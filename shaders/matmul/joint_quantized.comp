// joint_linear and linear_rope_write of quantised weights (lib/joint_linear.glsl, lib/quantized_dots.glsl).
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 32, local_size_x_id = 0) in;
#include "lib/joint_quantized.glsl"
