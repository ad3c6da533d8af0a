// mark_seen: sets bit t of `seen` for every token t of the run.
//
// One workgroup: a run has few tokens. Several of them may share a word, so the bits are set atomically.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/storage.glsl"
#include "params/step.h"
#include "params/mark_seen.h"

layout(local_size_x = 256, local_size_x_id = 0) in;

layout(push_constant) uniform Push { MarkSeenParams p; };

void main() {
    uint position = ReadWords(p.step).at[STEP_POSITION], valid = ReadWords(p.step).at[STEP_VALID];
    for (uint r = gl_LocalInvocationID.x; r < valid && position + r < p.token_count; r += gl_WorkGroupSize.x) {
        uint token = ReadWords(p.tokens).at[position + r];
        if (token >> 5 < p.words) atomicOr(Words(p.seen).at[token >> 5], 1u << (token & 31u));
    }
}
