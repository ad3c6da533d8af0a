// additive_scores: s[b, i, j] = sum_a w[a] tanh(q[b, i, a] + k[b, j, a]). One invocation per score: the definition.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/additive_scores.h"
ADDITIVE_SCORES_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/activation.glsl"
#include "lib/index.glsl"
#include "lib/storage.glsl"
layout(push_constant) uniform Push { AdditiveScoresParams p; };

void main() {
    uint i = invocation_index();
    if (i >= p.batch * p.n * p.m) return;
    uint key = i % p.m, row = i / p.m, batch = row / p.n;
    float score = 0.0;
    for (uint a = 0u; a < p.width; ++a)
        score += load(p.w, W_TYPE, a) *
                 stable_tanh(load(p.q, X_TYPE, row * p.width + a) + load(p.k, X_TYPE, (batch * p.m + key) * p.width + a));
    Floats(p.s).at[i] = score;
}
