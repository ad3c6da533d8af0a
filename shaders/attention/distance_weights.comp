// distance_weights: w_ir = sum of p_ij over the keys with clamp(j - i, -reach, reach) + reach = r; the queries end at
// the last key.
//
// One workgroup per row of a head. A distance below `reach` is that of one key at most, whose weight is the result; the
// weights of the keys from `reach` on, before and after the query, are summed by all lanes.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256, local_size_x_id = 0) in;
#include "params/distance_weights.h"
#include "lib/index.glsl"
#include "lib/reduce.glsl"
layout(push_constant) uniform Push { DistanceWeightsParams p; };
#include "lib/tapped_weight.glsl"

void main() {
    uint lane = LANE, lanes = gl_WorkGroupSize.x, at = workgroup_index();
    if (at >= p.n * p.heads) return;
    uint head = at % p.heads, row = at / p.heads, last = 2u * p.reach, first_result = at * (last + 1u);
    int reach = int(p.reach), position = int(row) + int(p.m) - int(p.n);
    float before = 0.0, after = 0.0;
    for (uint key = lane; key < p.m; key += lanes) {
        int distance = int(key) - position;
        if (abs(distance) < reach) continue;
        float weight = tapped_weight(head, row, position, key).value;
        if (distance <= -reach) before += weight;
        else after += weight;
    }
    for (uint r = 1u + lane; r < last; r += lanes) {
        int key = position + int(r) - reach;
        bool is_there = key >= 0 && key < int(p.m);
        store(p.w, Q_TYPE, first_result + r, is_there ? tapped_weight(head, row, position, uint(key)).value : 0.0);
    }
    before = workgroup_sum(before);
    after = workgroup_sum(after);
    if (lane > 0u) return;
    store(p.w, Q_TYPE, first_result, reach > 0 ? before : before + after);
    if (reach > 0) store(p.w, Q_TYPE, first_result + last, after);
}
