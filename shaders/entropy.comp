// entropy: h = -sum p ln p over rows, in nats; 0 ln 0 = 0. One workgroup per row.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/entropy.h"
ENTROPY_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/rows.glsl"
#include "lib/index.glsl"
#include "lib/reduce.glsl"

layout(push_constant) uniform Push { EntropyParams p; };

void main() {
    uint row = workgroup_index();
    if (row >= p.rows) return;
    Row x = row_of(p.p, X_TYPE, row, p.cols);
    float total = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < p.cols; i += gl_WorkGroupSize.x) {
        float value = load(x.address, X_TYPE, x.begin + i);
        if (value > 0.0) total -= value * log(value);
    }
    total = workgroup_sum(total);
    if (gl_LocalInvocationID.x == 0u) Floats(p.h).at[row] = total;
}
