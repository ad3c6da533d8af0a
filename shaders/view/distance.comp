// How far the rows of a head are from each other in two runs: half the sum of |p_B - p_A| over all slots of keys, the
// total variation of two distributions. One workgroup a row of a head. A launch for A leaves its weights, slot by slot;
// one for B compares.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "params/view.h"
#include "lib/index.glsl"
#include "lib/reduce.glsl"
#include "lib/slots.glsl"
layout(push_constant) uniform Push { ViewDistanceParams t; };
#include "lib/view_weights.glsl"

void main() {
    uint at = workgroup_index(), lane = gl_LocalInvocationID.x;
    if (at >= t.count * t.heads) return;
    uint slot = t.first + at / t.heads, row = tokens_before(t.row_slots, slot);
    bool there = tokens_before(t.row_slots, slot + 1u) > row;
    float sum = 0.0;
    for (uint column = lane; column < t.columns; column += gl_WorkGroupSize.x) {
        uint key = tokens_before(t.key_slots, column), place = at * t.columns + column;
        float own = 0.0;
        if (there && tokens_before(t.key_slots, column + 1u) > key)
            own = tapped_weight(at % t.heads, row, int(row), key).value;
        if (t.second == 0u)
            Floats(t.weights).at[place] = own;
        else
            sum += abs(own - ReadFloats(t.weights).at[place]);
    }
    if (t.second == 0u) return;
    sum = workgroup_sum(sum);
    if (lane == 0u) Floats(t.result).at[at] = 0.5 * sum;
}
