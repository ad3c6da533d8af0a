// expert_linear for few choices (one or some tokens), W stored as [n, k]: y[c] = x[c / share] W_e^T + bias_e.
//
// Bound by reading the chosen experts' matrices. One workgroup per choice and COLS rows of its expert's matrix; lanes
// stride over k by STEP elements, and their sums meet as in matmul/rows.comp.
#version 460
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 32, local_size_x_id = 0) in;
#include "lib/experts.glsl"
#include "lib/index.glsl"
#include "lib/reduce.glsl"
#include "params/experts.h"
EXPERT_LINEAR_ROWS_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/steps.glsl"
const uint COLS = 4u;

void main() {
    uint per_choice = (p.n + COLS - 1u) / COLS, choice = workgroup_index() / per_choice;
    uint lane = gl_LocalInvocationID.x, col0 = workgroup_index() % per_choice * COLS;
    if (choice >= p.choices) return;
    uint expert = expert_of(choice), row = choice / p.share * p.k;
    Row w = matrix_of(expert == NONE ? 0u : expert);
    float sums[COLS];
    [[unroll]] for (uint c = 0u; c < COLS; ++c) sums[c] = 0.0;
    for (uint k = lane * STEP; k < p.k; k += gl_WorkGroupSize.x * STEP) {
        vec4 a = load_step(p.x, X_TYPE, row + k);
        [[unroll]] for (uint c = 0u; c < COLS; ++c)
            sums[c] += dot(a, load_step(w.address, W_TYPE, w.begin + min(col0 + c, p.n - 1u) * p.k + k));
    }
    [[unroll]] for (uint c = 0u; c < COLS; ++c) {
        float sum = workgroup_sum(sums[c]);
        if (lane == 0u && col0 + c < p.n)
            store(p.y, X_TYPE, choice * p.n + col0 + c, expert == NONE ? 0.0 : with_bias(sum, expert, col0 + c));
    }
}
