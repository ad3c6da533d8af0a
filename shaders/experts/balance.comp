// load_balance: E sum_e f_e P_e, f_e the choices of expert e per token, P_e the mean of its probability (Fedus et al.
// 2021).
//
// One workgroup; lanes take experts and read all tokens.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256, local_size_x_id = 0) in;
#include "lib/reduce.glsl"
#include "lib/storage.glsl"
#include "params/experts.h"
layout(push_constant) uniform Push { LoadBalanceParams p; };

void main() {
    uint lane = gl_LocalInvocationID.x;
    float loss = 0.0, tokens = 0.0;  // without padding, which chose nothing
    for (uint row = lane; row < p.rows; row += gl_WorkGroupSize.x) tokens += float(int(ReadWords(p.index).at[row * p.top_k]) >= 0);
    tokens = workgroup_sum(tokens);
    for (uint e = lane; e < p.experts; e += gl_WorkGroupSize.x) {
        uint count = 0u;
        float mass = 0.0;
        for (uint c = 0u; c < p.rows * p.top_k; ++c) count += uint(ReadWords(p.index).at[c] == e);
        for (uint row = 0u; row < p.rows; ++row) mass += ReadFloats(p.probs).at[row * p.experts + e];
        loss += float(count) / tokens * (mass / tokens);
    }
    loss = workgroup_sum(loss) * float(p.experts);
    if (lane == 0u) Floats(p.loss).at[0] = tokens > 0.0 ? loss : 0.0;
}
