// argmax: index of the largest element of every row, the first of equal ones; NaN is never larger than anything.
//
// One workgroup per row. Elements are compared as integer keys (lib/order.glsl), so that infinities and NaNs are no
// exception.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/argmax.h"
ARGMAX_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/rows.glsl"
#include "lib/order.glsl"
#include "lib/index.glsl"

layout(push_constant) uniform Push { ArgmaxParams p; };

void main() {
    uint row = workgroup_index(), lane = gl_LocalInvocationID.x;
    if (row >= p.rows) return;
    Row x = row_of(p.x, X_TYPE, row, p.cols);
    uvec2 best = uvec2(0u, lane);
    for (uint i = lane; i < p.cols; i += gl_WorkGroupSize.x)
        best = larger(best, uvec2(load_key(x.address, X_TYPE, x.begin + i), i));
    best = workgroup_largest(best);
    if (lane == 0u) Words(p.y).at[row] = best.y;
}
