// mark_seen: sets bit t of a sequence's `seen` for every token t that the run has of it.
//
// One workgroup per sequence: a run has few tokens. Several of them may share a word, so the bits are set atomically.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/rows.glsl"
#include "params/mark_seen.h"

layout(local_size_x = 256, local_size_x_id = 0) in;

layout(push_constant) uniform Push { MarkSeenParams p; };

void main() {
    uint lane = gl_WorkGroupID.x, sequence = sequence_of(p.step, lane);
    uvec2 step = step_of(p.step, lane), tokens = row_address(p.tokens, F32, sequence, p.token_count);
    uvec2 seen = row_address(p.seen, F32, sequence, p.words);
    uint position = ReadWords(step).at[STEP_POSITION], valid = ReadWords(step).at[STEP_VALID];
    for (uint r = gl_LocalInvocationID.x; r < valid && position + r < p.token_count; r += gl_WorkGroupSize.x) {
        uint token = ReadWords(tokens).at[position + r];
        if (token >> 5 < p.words) atomicOr(Words(seen).at[token >> 5], 1u << (token & 31u));
    }
}
