// y = x, pass after pass over the same memory: how many bytes a second the device reads and writes.
//
// A workgroup copies a chunk in each pass, and each time another one, so that no pass repeats what the one before has done.
// EACH quads an invocation, a workgroup's width apart: as many loads in flight.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "lib/storage.glsl"
#include "params/bench.h"

layout(local_size_x = 256, local_size_x_id = 0) in;
layout(constant_id = 1) const uint EACH = 4;
#include "lib/index.glsl"

layout(push_constant) uniform Push { BenchParams p; };

void main() {
    uint chunk = workgroup_index();
    if (chunk >= p.chunks) return;
    for (uint pass = 0u; pass < p.passes; ++pass) {
        uint first = chunk * EACH * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
        [[unroll]] for (uint k = 0u; k < EACH; ++k)
            Quads(p.y).at[first + k * gl_WorkGroupSize.x] = ReadQuads(p.x).at[first + k * gl_WorkGroupSize.x];
        chunk = (chunk + 1u) % p.chunks;
    }
}
