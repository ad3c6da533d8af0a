// The grid of dispatches whose workgroups each cover a fixed number of keys: (ceil(keys / keys_per_group), y, z), with
// the keys of the sequence that has most. One invocation; the runtime runs it before the first such dispatch of a plan.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 1) in;
#include "lib/rows.glsl"
#include "params/grid.h"
layout(push_constant) uniform Push { GridParams p; };

void main() {
    Words grid = Words(p.grid);
    uint keys = 0u;
    for (uint s = 0u; s < p.sequences; ++s) keys = max(keys, ReadWords(step_of(p.step, s)).at[STEP_KEYS]);
    grid.at[0] = (keys + p.keys_per_group - 1u) / p.keys_per_group;
    grid.at[1] = p.y;
    grid.at[2] = p.z;
}
