// joint_linear of quantised weights (lib/joint_linear.glsl, lib/quantized_dots.glsl).
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 32, local_size_x_id = 0) in;
#include "lib/joint_linear.glsl"

#define QUANTS W_TYPE
const uint QUARTERS = 1u;
float load_scale(uint c, uint k0) { return block_scale(weight_of(c), W_TYPE, first_of(c) + k0); }
Quarter load_quarter(uint c, uint k0, uint quarter) { return quants8(weight_of(c), W_TYPE, first_of(c) + k0, quarter); }
#include "lib/quantized_dots.glsl"

void main() {
    if (!take_columns()) return;
    float sums[ROWS][COLS];
    quantized_dots(p.k, gl_LocalInvocationID.x, gl_WorkGroupSize.x, sums);
    workgroup_reduce_sums(sums);
    store_columns();
}
