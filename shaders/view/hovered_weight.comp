// One weight, and the row that it is in: its logit, how many weights are larger, the row's sum and entropy, its largest
// weights. One workgroup; lanes stride over the keys, twice: first for the weight itself.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "params/view.h"
#include "lib/reduce.glsl"
layout(push_constant) uniform Push { ViewHoveredWeightParams t; };
#include "lib/view_weights.glsl"

const uvec2 NONE = uvec2(0u, NO_LIMIT);
// Weights with their keys; those of positive floats are in the same order as integers.
bool is_larger(uvec2 a, uvec2 b) { return a.x > b.x || (a.x == b.x && a.y < b.y); }

shared uvec2 top[PROBE_TOP_COUNT * gl_WorkGroupSize.x];  // of each lane, the largest first
uint lane = gl_LocalInvocationID.x;
uint slot(uint place) { return place * gl_WorkGroupSize.x + lane; }

void take(uvec2 read) {
    if (!is_larger(read, top[slot(PROBE_TOP_COUNT - 1u)])) return;
    for (uint i = 0u; i < PROBE_TOP_COUNT; ++i) {
        uvec2 other = top[slot(i)];
        if (!is_larger(read, other)) continue;
        top[slot(i)] = read;
        read = other;
    }
}

void write_word(uint at, uint word) { Words(t.result).at[at] = word; }
void write_number(uint at, float number) { write_word(at, floatBitsToUint(number)); }

// Those of the other lanes go into this lane's list.
void write_top() {
    for (uint other = 0u; other < gl_WorkGroupSize.x; ++other)
        for (uint i = 0u; other != lane && i < PROBE_TOP_COUNT; ++i) take(top[i * gl_WorkGroupSize.x + other]);
    for (uint i = 0u; i < PROBE_TOP_COUNT; ++i) {
        write_word(PROBE_TOP + 2u * i, top[slot(i)].x);
        write_word(PROBE_TOP + 2u * i + 1u, top[slot(i)].y);
    }
}

void main() {
    TappedWeight wanted = weight_of(t.row, t.key);
    for (uint i = 0u; i < PROBE_TOP_COUNT; ++i) top[slot(i)] = NONE;
    float sum = 0.0, entropy = 0.0, larger = 0.0;
    for (uint key = lane; key < t.keys; key += gl_WorkGroupSize.x) {
        float weight = weight_of(t.row, key).value;
        if (!(weight > 0.0)) continue;
        sum += weight;
        // a device may take a smaller one's logarithm for that of 0
        if (weight > 1.0e-37) entropy -= weight * log(weight);
        if (weight > wanted.value) larger += 1.0;
        take(uvec2(floatBitsToUint(weight), key));
    }
    sum = workgroup_sum(sum);
    entropy = workgroup_sum(entropy);
    larger = workgroup_sum(larger);
    barrier();
    if (lane > 0u) return;
    write_number(PROBE_WEIGHT, wanted.value);
    write_number(PROBE_LOGIT, wanted.seen ? wanted.score : uintBitsToFloat(0xff800000u));
    write_word(PROBE_LARGER, uint(larger));
    write_number(PROBE_SUM, sum);
    write_number(PROBE_ENTROPY, entropy);
    write_top();
}
