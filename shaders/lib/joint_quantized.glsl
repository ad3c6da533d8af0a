// The body of matmul/joint_quantized.comp and, with INT8, of matmul/joint_int8.comp.
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
