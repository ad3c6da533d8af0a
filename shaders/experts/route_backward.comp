// route_backward: dlogits = p (dp - sum p dp), where dp is dprobs, and of a chosen expert also dweight; divided weights
// w = p / sum of the chosen p pass on (dweight - sum dweight w) / sum of the chosen p. One workgroup a token.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "params/experts.h"
#include "lib/index.glsl"
#include "lib/reduce.glsl"
#include "lib/storage.glsl"
layout(push_constant) uniform Push { RouteBackwardParams p; };

float prob_of(uint row, uint expert) { return ReadFloats(p.probs).at[row * p.experts + expert]; }

// What the weight of an expert, if it was chosen, passes on to its probability.
float of_weight(uint row, uint expert, float kept, float mean) {
    for (uint c = 0u; c < p.top_k; ++c)
        if (ReadWords(p.index).at[row * p.top_k + c] == expert)
            return (ReadFloats(p.dweight).at[row * p.top_k + c] - mean) / kept;
    return 0.0;
}

void main() {
    uint row = workgroup_index();
    if (row >= p.rows) return;
    float kept = 1.0, mean = 0.0;
    if (present(p.dweight) && p.renormalise != 0u) {
        kept = 0.0;
        for (uint c = 0u; c < p.top_k; ++c) {
            uint expert = ReadWords(p.index).at[row * p.top_k + c];
            if (expert < p.experts) kept += prob_of(row, expert);
            mean += ReadFloats(p.dweight).at[row * p.top_k + c] * ReadFloats(p.weight).at[row * p.top_k + c];
        }
    }
    float total = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < p.experts; i += gl_WorkGroupSize.x) {
        float dp = present(p.dprobs) ? ReadFloats(p.dprobs).at[row * p.experts + i] : 0.0;
        if (present(p.dweight)) dp += of_weight(row, i, kept, mean);
        total += prob_of(row, i) * dp;
    }
    total = workgroup_sum(total);
    for (uint i = gl_LocalInvocationID.x; i < p.experts; i += gl_WorkGroupSize.x) {
        float dp = present(p.dprobs) ? ReadFloats(p.dprobs).at[row * p.experts + i] : 0.0;
        if (present(p.dweight)) dp += of_weight(row, i, kept, mean);
        Floats(p.dlogits).at[row * p.experts + i] = prob_of(row, i) * (dp - total);
    }
}
