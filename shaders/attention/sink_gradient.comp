// dsink_h = -sum over the rows of head h of exp(sink - lse) delta. One workgroup a head.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "params/attention_backward.h"
#include "lib/storage.glsl"
#include "lib/index.glsl"
#include "lib/reduce.glsl"
layout(push_constant) uniform Push { AttentionSinkGradientParams p; };

void main() {
    uint head = workgroup_index();
    if (head >= p.heads) return;
    float sink = ReadFloats(p.sinks).at[head], total = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < p.rows / p.heads; i += gl_WorkGroupSize.x) {
        uint row = p.heads_first != 0u ? (i / p.n * p.heads + head) * p.n + i % p.n : i * p.heads + head;
        total -= exp(sink - ReadFloats(p.stats).at[2u * row]) * ReadFloats(p.stats).at[2u * row + 1u];
    }
    total = workgroup_sum(total);
    if (gl_LocalInvocationID.x == 0u) Floats(p.dsinks).at[head] = total;
}
