// joint_linear of floats (lib/joint_linear.glsl, lib/row_dots.glsl).
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 32, local_size_x_id = 0) in;
#include "lib/joint_linear.glsl"

vec4 load_b(uint c, uint k) { return load_step(weight_of(c), W_TYPE, first_of(c) + k); }
#include "lib/row_dots.glsl"

void main() {
    if (!take_columns()) return;
    row_dots(p.k);
    store_columns();
}
