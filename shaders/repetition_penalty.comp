// repetition_penalty: y = x / penalty where x > 0, x penalty where not, for every token whose bit is set in `seen`.
//
// STEP elements of one row per invocation; four of them lie in one word of bits.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/repetition_penalty.h"
REPETITION_PENALTY_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/steps.glsl"
#include "lib/penalty.glsl"
#include "lib/index.glsl"

layout(push_constant) uniform Push { RepetitionPenaltyParams p; };

void main() {
    uint i = invocation_index() * STEP;
    if (i >= p.count) return;
    uint token = i % p.cols, bits = ReadWords(p.seen).at[token >> 5] >> (token & 31u);
    vec4 value = load_step(p.x, X_TYPE, i);
    for (uint k = 0u; k < STEP; ++k)
        if ((bits >> k & 1u) != 0u) value[k] = penalized(value[k], p.penalty);
    store_step(p.y, X_TYPE, i, value);
}
