// sum_squares: the sum of the squares of a block of elements, or of the elements themselves where they are such sums.
// One workgroup a block; what several blocks give is summed by the same kernel again, in a fixed order.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/train.h"
#include "lib/storage.glsl"
#include "lib/index.glsl"
#include "lib/reduce.glsl"
layout(push_constant) uniform Push { SumSquaresParams p; };

void main() {
    uint block = workgroup_index(), begin = block * p.block, end = min(begin + p.block, p.count);
    if (block * p.block >= p.count && block > 0u) return;
    float total = 0.0;
    for (uint i = begin + gl_LocalInvocationID.x; i < end; i += gl_WorkGroupSize.x) {
        float x = load(p.x, F32, i);
        total += p.squares != 0u ? x * x : x;
    }
    total = workgroup_sum(total);
    if (gl_LocalInvocationID.x == 0u) Floats(p.sums).at[block] = total;
}
