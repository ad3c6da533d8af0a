// What weights are multiplied and divided by under modifiers (params/view.h), one workgroup each:
//   key factors   1, or ‖v_j‖ with values weighted, and 0 for key 0 with the sink off;
//   row factors   one over the row's largest p_ij key_factor_j, or with the sink off over the sum of its weights
//                 without key 0;
//   means by distance  of p_ij row_factor_i key_factor_j over the rows that have a key at that distance.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "params/view.h"
#include "lib/index.glsl"
#include "lib/reduce.glsl"
layout(push_constant) uniform Push { ViewFactorParams t; };
#include "lib/view_weights.glsl"

uint lane = gl_LocalInvocationID.x;

float key_factor(uint key) {
    if (t.sink_off != 0u && key == 0u) return 0.0;
    if (t.value_weighted == 0u) return 1.0;
    uint first = cache_head_row(0u, p.m, key, t.head / (p.heads / p.kv_heads), p.kv_heads) * p.dv;
    float square = 0.0;
    for (uint d = 0u; d < p.dv; ++d) {
        float value = load(p.v, K_TYPE, first + d);
        square += value * value;
    }
    return sqrt(square);
}

float row_factor(uint row) {
    float sum = 0.0, largest = 0.0;
    for (uint key = lane; key < t.keys; key += gl_WorkGroupSize.x) {
        float weight = weight_of(row, key).value;
        if (t.sink_off == 0u || key > 0u) sum += weight;
        largest = max(largest, weight * factor(t.key_factors, key));
    }
    float all = t.row_normalised != 0u ? workgroup_max(largest) : workgroup_sum(sum);
    return all > 0.0 ? 1.0 / all : 0.0;
}

// Index i - j + m.
float distance_mean(uint distance) {
    float sum = 0.0, count = 0.0;
    for (uint row = lane; row < t.rows; row += gl_WorkGroupSize.x) {
        uint key = row + p.m - distance;  // wraps around for a key before the first
        if (key >= t.keys) continue;
        sum += weight_of(row, key).value * factor(t.row_factors, row) * factor(t.key_factors, key);
        count += 1.0;
    }
    sum = workgroup_sum(sum);
    count = workgroup_sum(count);
    return count > 0.0 ? sum / count : 0.0;
}

void main() {
    uint i = t.first + workgroup_index();
    if (i >= t.first + t.count) return;
    float value;
    if (t.kind == VIEW_KEYS)
        value = key_factor(i);
    else if (t.kind == VIEW_ROWS)
        value = row_factor(i);
    else
        value = distance_mean(i);
    if (lane == 0u) Floats(t.result).at[i] = value;
}
