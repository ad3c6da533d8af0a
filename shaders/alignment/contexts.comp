// alignment, second of two: lse_i = ln sum_j exp(s_ij), c_i = sum_j exp(s_ij - lse_i) v_j over the keys that the
// sequence has; 0 and -inf without any.
//
// One workgroup per query: its lanes share out the keys, then the features.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "lib/alignment.glsl"

void main() {
    uint row = workgroup_index(), lane = gl_LocalInvocationID.x;
    if (row >= p.lanes * p.rows) return;
    uint sequence = sequence_of(p.step, row / p.rows), keys = visible_keys(sequence);
    ReadFloats scores = ReadFloats(row_address(p.s, F32, row, p.keys));
    float largest = -3.0e38, sum = 0.0;
    for (uint j = lane; j < keys; j += gl_WorkGroupSize.x) largest = max(largest, scores.at[j]);
    largest = workgroup_max(largest);
    for (uint j = lane; j < keys; j += gl_WorkGroupSize.x) sum += exp(scores.at[j] - largest);
    sum = workgroup_sum(sum);
    float lse = keys > 0u ? largest + log(sum) : uintBitsToFloat(0xff800000u);
    if (isnan(sum)) lse = sum;  // not every device's log keeps it
    if (lane == 0u) Floats(p.lse).at[row] = lse;
    for (uint e = lane; e < p.features; e += gl_WorkGroupSize.x) {
        float value = 0.0;
        for (uint j = 0u; j < keys; ++j) {
            Row v = row_of(p.v, KV_TYPE, cache_row(sequence, p.keys, j), p.features);
            value += exp(scores.at[j] - lse) * load(v.address, KV_TYPE, v.begin + e);
        }
        Floats(row_address(p.c, F32, row, p.features)).at[e] = isnan(lse) ? lse : value;
    }
}
