// y = x, pass after pass over the same memory: how many bytes a second the device reads and writes.
//
// A workgroup copies one chunk: EACH quads an invocation, a workgroup's width apart, as many loads in flight. Passes are
// more workgroups, not a loop: in a loop a CPU device masks every store.
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
    uint first = workgroup_index() % p.chunks * EACH * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    [[unroll]] for (uint k = 0u; k < EACH; ++k)
        Quads(p.y).at[first + k * gl_WorkGroupSize.x] = ReadQuads(p.x).at[first + k * gl_WorkGroupSize.x];
}
