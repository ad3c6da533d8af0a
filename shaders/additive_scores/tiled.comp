// additive_scores: s[b, i, j] = sum_a w[a] tanh(q[b, i, a] + k[b, j, a]).
//
// A workgroup of 16 x 16 makes a tile of 16 queries by 16 keys, one score each; slices of 16 features of both go
// through shared memory, so that each is read once for 16 scores. tanh by lib/activation.glsl: Vulkan's may overflow.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/additive_scores.h"
ADDITIVE_SCORES_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/activation.glsl"
#include "lib/storage.glsl"
layout(push_constant) uniform Push { AdditiveScoresParams p; };

const uint SIDE = 16u;
shared float queries[SIDE][SIDE + 1u], keys[SIDE][SIDE + 1u];  // padded against bank conflicts

// Element (row, feature) of one of them, 0 beyond its end.
float element(uvec2 x, uint batch, uint rows, uint row, uint feature) {
    return row < rows && feature < p.width ? load(x, X_TYPE, (batch * rows + row) * p.width + feature) : 0.0;
}

void main() {
    uint batch = gl_WorkGroupID.z, row0 = gl_WorkGroupID.y * SIDE, key0 = gl_WorkGroupID.x * SIDE;
    float score = 0.0;
    for (uint a0 = 0u; a0 < p.width; a0 += SIDE) {
        for (uint i = gl_LocalInvocationID.x; i < SIDE * SIDE; i += gl_WorkGroupSize.x) {
            queries[i / SIDE][i % SIDE] = element(p.q, batch, p.n, row0 + i / SIDE, a0 + i % SIDE);
            keys[i / SIDE][i % SIDE] = element(p.k, batch, p.m, key0 + i / SIDE, a0 + i % SIDE);
        }
        barrier();
        uint i = gl_LocalInvocationID.x / SIDE, j = gl_LocalInvocationID.x % SIDE;
        for (uint a = 0u; a < min(SIDE, p.width - a0); ++a)
            score += load(p.w, W_TYPE, a0 + a) * stable_tanh(queries[i][a] + keys[j][a]);
        barrier();
    }
    uint row = row0 + gl_LocalInvocationID.x / SIDE, key = key0 + gl_LocalInvocationID.x % SIDE;
    if (row < p.n && key < p.m) Floats(p.s).at[(batch * p.n + row) * p.m + key] = score;
}
