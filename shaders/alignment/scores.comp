// alignment, first of two: the score of every query and key, -inf for a key that the sequence does not have.
//   s_ij = q_i k_j, or ADDITIVE sum_a w_a tanh(q_ia + k_ja)
//
// One workgroup per score, whose lanes share out the features.
#version 460
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64, local_size_x_id = 0) in;
#include "lib/activation.glsl"
#include "lib/alignment.glsl"

vec4 tanh_of(vec4 x) {
    if (STEP == 4u) return vec4(stable_tanh(x.x), stable_tanh(x.y), stable_tanh(x.z), stable_tanh(x.w));
    return vec4(stable_tanh(x.x), 0.0, 0.0, 0.0);
}

void main() {
    if (p.keys == 0u || workgroup_index() / p.keys >= p.lanes * p.rows) return;
    uint row = workgroup_index() / p.keys, key = workgroup_index() % p.keys, sequence = sequence_of(p.step, row / p.rows);
    float score = uintBitsToFloat(0xff800000u);
    if (key < visible_keys(sequence)) {
        Row q = row_of(p.q, Q_TYPE, row, p.width), k = row_of(p.k, KV_TYPE, cache_row(sequence, p.keys, key), p.width);
        float sum = 0.0;
        for (uint a = gl_LocalInvocationID.x * STEP; a < p.width; a += gl_WorkGroupSize.x * STEP) {
            vec4 x = load_step(q.address, Q_TYPE, q.begin + a), y = load_step(k.address, KV_TYPE, k.begin + a);
            vec4 product = ADDITIVE ? load_step(p.w, W_TYPE, a) * tanh_of(x + y) : x * y;
            sum += step_sum(product);
        }
        score = workgroup_sum(sum);
    }
    if (gl_LocalInvocationID.x == 0u) Floats(row_address(p.s, F32, row, p.keys)).at[key] = score;
}
