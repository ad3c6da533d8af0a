// route: p = softmax(logits) over the experts, the top_k largest of them by index, and their weights: p, or p divided
// by the sum of the chosen.
//
// One workgroup per token. The next choice is the largest of those that come after the last one in the order of (value,
// index), so nothing must be marked as taken. Padding chooses nothing: index -1, weight 0.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "params/experts.h"
ROUTE_CONSTANTS(VANTAGE_CONSTANT)
#include "lib/index.glsl"
#include "lib/order.glsl"
#include "lib/reduce.glsl"
#include "lib/rows.glsl"
layout(push_constant) uniform Push { RouteParams p; };
shared uint chosen[MAX_EXPERTS_PER_TOKEN];
shared float weights[MAX_EXPERTS_PER_TOKEN];

float logit(uint row, uint expert) { return load(p.logits, X_TYPE, row * p.experts + expert); }

// The largest that comes after `last`.
uvec2 next_choice(uint row, uvec2 last) {
    uvec2 best = uvec2(0u, 0xffffffffu);
    for (uint i = gl_LocalInvocationID.x; i < p.experts; i += gl_WorkGroupSize.x) {
        uvec2 one = uvec2(load_key(p.logits, X_TYPE, row * p.experts + i), i);
        if (one.x < last.x || (one.x == last.x && int(i) > int(last.y))) best = larger(best, one);
    }
    return workgroup_largest(best);
}

void main() {
    uint row = workgroup_index(), lane = gl_LocalInvocationID.x, lanes = gl_WorkGroupSize.x;
    if (row >= p.rows) return;
    bool valid = is_valid(step_of(p.step, row / p.rows_each), row % p.rows_each);
    float peak = -3.0e38, sum = 0.0, kept = 0.0;
    for (uint i = lane; i < p.experts; i += lanes) peak = max(peak, logit(row, i));
    peak = workgroup_max(peak);
    for (uint i = lane; i < p.experts; i += lanes) sum += exp(logit(row, i) - peak);
    sum = workgroup_sum(sum);
    for (uint i = lane; i < p.experts; i += lanes)
        Floats(p.probs).at[row * p.experts + i] = valid ? exp(logit(row, i) - peak) / sum : 0.0;
    uvec2 last = uvec2(0xffffffffu, 0xffffffffu);
    for (uint c = 0u; c < p.top_k; ++c) {
        last = next_choice(row, last);
        float weight = exp(logit(row, min(last.y, p.experts - 1u)) - peak) / sum;
        kept += weight;
        if (lane == 0u) chosen[c] = last.y, weights[c] = weight;
    }
    barrier();
    for (uint c = lane; c < p.top_k; c += lanes) {
        Words(p.index).at[row * p.top_k + c] = valid ? chosen[c] : 0xffffffffu;
        Floats(p.weight).at[row * p.top_k + c] = valid ? weights[c] / (p.renormalise != 0u ? kept : 1.0) : 0.0;
    }
}
