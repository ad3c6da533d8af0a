// additive_scores_backward: the gradients of s[b, i, j] = sum_a w[a] tanh(q[b, i, a] + k[b, j, a]), from ds.
//   dq[b, i, a] = w[a] sum_j ds (1 - t^2),  dk[b, j, a] = w[a] sum_i ds (1 - t^2),  dw[b, i, a] = sum_j ds t
//
// An invocation makes a row's or a key's sums over one feature: t is computed again, and nothing of n x m x width is
// kept. KEYS: 0 makes dq and dw, 1 makes dk.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/additive_scores.h"
ADDITIVE_BACKWARD_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/activation.glsl"
#include "lib/index.glsl"
#include "lib/storage.glsl"
layout(push_constant) uniform Push { AdditiveBackwardParams p; };

void main() {
    uint own_count = KEYS == 1u ? p.m : p.n, other_count = KEYS == 1u ? p.n : p.m;
    if (invocation_index() >= p.batch * own_count * p.width) return;  // before the divisions: one of these may be 0
    uint own = invocation_index() / p.width, a = invocation_index() % p.width, batch = own / own_count;
    float x = KEYS == 1u ? load(p.k, X_TYPE, own * p.width + a) : load(p.q, X_TYPE, own * p.width + a);
    float scores = 0.0, weights = 0.0;
    for (uint other = 0u; other < other_count; ++other) {
        uint at = (batch * other_count + other) * p.width + a;
        uint row = KEYS == 1u ? batch * p.n + other : own, key = KEYS == 1u ? own % p.m : other;
        float t = stable_tanh(x + (KEYS == 1u ? load(p.q, X_TYPE, at) : load(p.k, X_TYPE, at)));
        float ds = load(p.ds, F32, row * p.m + key);
        scores += ds * (1.0 - t * t);
        weights += ds * t;
    }
    scores *= load(p.w, W_TYPE, a);
    if (KEYS == 1u) {
        store(p.dk, F32, own * p.width + a, scores);
    } else {
        store(p.dq, F32, own * p.width + a, scores);
        store(p.dw, F32, own * p.width + a, weights);
    }
}
