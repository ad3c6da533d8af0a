// joint_linear of quantised weights (lib/joint_linear.glsl, lib/quantized_dots.glsl). With INT8 x is rounded to bytes.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 32, local_size_x_id = 0) in;
#include "lib/joint_linear.glsl"

#define ROUNDED_ROWS p.m
const uint QUARTERS = 1u;
#include "lib/quantized_dots.glsl"

void main() {
    if (!take_columns()) return;
    float sums[ROWS][COLS];
    quantized_dots(p.k, team_lane(), gl_WorkGroupSize.x, sums);
    workgroup_reduce_sums(sums);
    store_columns();
}
