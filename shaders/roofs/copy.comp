// How many bytes a second the device reads and writes (y = x), or reads alone, pass after pass over the same memory.
//
// A workgroup takes one chunk: EACH quads an invocation, a workgroup's width apart, as many loads in flight. Passes are
// more workgroups, not a loop: in a loop a CPU device masks every store.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "lib/storage.glsl"
#include "params/bench.h"

layout(local_size_x = 256, local_size_x_id = 0) in;
BENCH_COPY_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/index.glsl"

layout(push_constant) uniform Push { BenchParams p; };

void main() {
    uint first = workgroup_index() % p.chunks * EACH * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    vec4 sum = vec4(0.0);
    [[unroll]] for (uint k = 0u; k < EACH; ++k) {
        vec4 quad = ReadQuads(p.x).at[first + k * gl_WorkGroupSize.x];
        if (WRITES)
            Quads(p.y).at[first + k * gl_WorkGroupSize.x] = quad;
        else
            sum += quad;
    }
    // Never so, which no compiler knows: what is read holds p.factor or more.
    if (!WRITES && dot(sum, vec4(1.0)) < p.factor) Quads(p.y).at[first] = sum;
}
