// The grid of dispatches whose workgroups each cover a fixed number of keys: (ceil(keys / keys_per_group), y, z).
// One invocation; the runtime puts it in front of the first such dispatch of a plan.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 1) in;
#include "lib/storage.glsl"
#include "params/grid.h"
#include "params/step.h"
layout(push_constant) uniform Push { GridParams p; };

void main() {
    Words grid = Words(p.grid);
    grid.at[0] = (ReadWords(p.step).at[STEP_KEYS] + p.keys_per_group - 1u) / p.keys_per_group;
    grid.at[1] = p.y;
    grid.at[2] = p.z;
}
