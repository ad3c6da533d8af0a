// begin_step: moves each sequence on to its next rows.
//   position += valid;  valid = min(rows, end - position);  keys = position + valid
//
// A handful of words: one invocation of a workgroup works for one sequence.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/rows.glsl"
#include "params/begin_step.h"

layout(local_size_x = 1) in;

layout(push_constant) uniform Push { BeginStepParams p; };

void main() {
    if (gl_LocalInvocationID.x != 0u) return;
    Words step = Words(step_of(p.step, gl_WorkGroupID.x));
    uint position = step.at[STEP_POSITION] + step.at[STEP_VALID], end = step.at[STEP_END];
    uint valid = end > position ? min(p.rows, end - position) : 0u;
    step.at[STEP_POSITION] = position;
    step.at[STEP_VALID] = valid;
    step.at[STEP_KEYS] = position + valid;
}
