// load_balance_backward: dprobs[t, e] = dloss experts count_e / tokens², count_e the choices of expert e; the same for
// all tokens, padding included, whose probabilities are constant. One workgroup an expert.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/experts.h"
#include "lib/index.glsl"
#include "lib/reduce.glsl"
#include "lib/storage.glsl"
layout(push_constant) uniform Push { LoadBalanceBackwardParams p; };

void main() {
    uint expert = workgroup_index();
    if (expert >= p.experts) return;
    float count = 0.0, tokens = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < p.rows * p.top_k; i += gl_WorkGroupSize.x) {
        uint chosen = ReadWords(p.index).at[i];
        if (chosen == expert) count += 1.0;
        if (i % p.top_k == 0u && int(chosen) >= 0) tokens += 1.0;
    }
    count = workgroup_sum(count);
    tokens = workgroup_sum(tokens);
    float dp = tokens > 0.0 ? ReadFloats(p.dloss).at[0] * float(p.experts) * count / (tokens * tokens) : 0.0;
    for (uint row = gl_LocalInvocationID.x; row < p.rows; row += gl_WorkGroupSize.x)
        Floats(p.dprobs).at[row * p.experts + expert] = dp;
}
